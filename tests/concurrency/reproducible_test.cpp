// SPDX-License-Identifier: Apache-2.0
// GemmOptions::reproducible: the bytes of an element follow from k, its row of A and its column of B.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "support/check_case.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Contiguous by rows, and what the product of all of it left.
struct Whole {
  GemmDescription d;
  Matrices matrices;
  Bytes c;

  Whole(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k, const GemmOptions& options = {})
      : d(contiguous(types, m, n, k)), matrices(d, 11) {
    run(d, matrices.arguments(), options);
    c = matrices.c();
  }

  static void run(const GemmDescription& description, const GemmArguments& arguments, GemmOptions options) {
    options.reproducible = true;
    const Status status = gemm(description, arguments, options);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  [[nodiscard]] std::int64_t in() const { return size_in_bytes(d.types.input); }
  [[nodiscard]] std::int64_t out() const { return size_in_bytes(d.types.output); }
};

/// Elements (i, j) of a matrix by rows, by columns.
Bytes turned(const void* from, std::int64_t rows, std::int64_t columns, std::int64_t size) {
  Bytes to(static_cast<std::size_t>(rows * columns * size));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      std::memcpy(to.data() + (j * rows + i) * size, static_cast<const std::byte*>(from) + (i * columns + j) * size,
                  static_cast<std::size_t>(size));
  return to;
}

/// A part of the whole's C, from rows [row, row + m) and columns [column, column + n), with operands as they lie or by
/// columns.
void expect_part(Whole& whole, std::int64_t row, std::int64_t m, std::int64_t column, std::int64_t n, bool by_columns,
                 const GemmOptions& options = {}) {
  const GemmDescription& all = whole.d;
  const GemmArguments given = whole.matrices.arguments();
  GemmDescription d = all;
  d.m = m;
  d.n = n;
  d.c = {.row_stride = n};
  const auto* a = static_cast<const std::byte*>(given.a) + row * all.k * whole.in();
  const auto* b = static_cast<const std::byte*>(given.b) + column * whole.in();
  Bytes a_turned;
  Bytes b_turned;
  if (by_columns) {
    a_turned = turned(a, m, all.k, whole.in());
    d.a = {.row_stride = 1, .column_stride = m};
    b_turned = turned(given.b, all.k, all.n, whole.in());
    d.b = {.row_stride = 1, .column_stride = all.k};
    d.c = {.row_stride = 1, .column_stride = m};
    a = a_turned.data();
    b = b_turned.data() + column * all.k * whole.in();
  }
  Bytes c(static_cast<std::size_t>(m * n * whole.out()));
  Whole::run(d, {.a = a, .b = b, .c = c.data()}, options);
  int different = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      different += std::memcmp(c.data() + (i * d.c.row_stride + j * d.c.column_stride) * whole.out(),
                               whole.c.data() + ((row + i) * all.n + column + j) * whole.out(),
                               static_cast<std::size_t>(whole.out())) != 0;
  EXPECT_EQ(different, 0) << to_string(all.types) << ": of rows " << row << " + " << m << ", columns " << column
                          << " + " << n << (by_columns ? " by columns" : "") << ", k = " << all.k << " "
                          << options.kernel << " " << to_string(options.accuracy);
}

std::vector<GemmTypes> floating_types() {
  std::vector<GemmTypes> types;
  for (const GemmTypes pair : all_gemm_types())
    if (is_floating(pair.input)) types.push_back(pair);
  return types;
}

TEST(Reproducible, WhateverTheNumberOfRowsIs) {
  for (const GemmTypes types : floating_types()) {
    Whole whole(types, 257, 19, 1100);
    for (std::int64_t m = 1; m <= 257; ++m) expect_part(whole, 257 - m, m, m % 3, 1 + m % 17, m % 2 == 0);
  }
}

TEST(Reproducible, WhateverTheNumberOfColumnsIs) {
  for (const GemmTypes types : floating_types()) {
    Whole whole(types, 40, 300, 777);
    for (const std::int64_t n : {1, 2, 3, 5, 8, 9, 16, 31, 33, 64, 100, 257, 299})
      for (const std::int64_t m : {1, 4, 8, 9, 40}) expect_part(whole, (m + n) % (41 - m), m, 300 - n, n, n % 2 == 0);
  }
}

TEST(Reproducible, InLargerProducts) {
  std::mt19937 random(3);
  const GemmTypes types[] = {{ElementType::f32, ElementType::f32}, {ElementType::bf16, ElementType::bf16}};
  for (const GemmTypes pair : types) {
    Whole whole(pair, 2100, 130, 2500);
    for (int i = 0; i < 20; ++i) {
      const auto m = std::uniform_int_distribution<std::int64_t>(258, 2100)(random);
      expect_part(whole, 2100 - m, m, 0, 130 - 6 * i, i % 4 == 0, {.threads = 1 + i % 3});
    }
    expect_part(whole, 77, 1, 5, 1, false);
  }
}

TEST(Reproducible, InEveryAccuracy) {
  for (const Accuracy accuracy : {Accuracy::reduced, Accuracy::compensated, Accuracy::correctly_rounded}) {
    const GemmOptions options{.accuracy = accuracy};
    Whole whole({ElementType::f32, ElementType::f32}, 60, 40, 900, options);
    for (const std::int64_t m : {1, 7, 8, 9, 33, 60}) expect_part(whole, 60 - m, m, 3, 30, m % 2 == 0, options);
  }
}

/// A batch, prepared operands, beta and a bias.
TEST(Reproducible, HoweverItIsCalled) {
  for (const GemmTypes types : floating_types()) {
    Whole whole(types, 24, 40, 600);
    GemmDescription d = whole.d;
    d.m = 6;
    d.batch_count = 4;
    d.a.batch_stride = 6 * d.k;
    d.c.batch_stride = 6 * d.n;
    Bytes c(whole.c.size());
    const GemmArguments given = whole.matrices.arguments();
    Whole::run(d, {.a = given.a, .b = given.b, .c = c.data()}, {});
    EXPECT_EQ(c, whole.c) << to_string(types) << ", a batch";

    const Result<Plan> plan = Plan::make(whole.d, {.reproducible = true});
    ASSERT_TRUE(plan.ok());
    const Result<PreparedOperand> prepared = plan.value().prepare(Operand::b, given.b);
    ASSERT_TRUE(prepared.ok());
    ASSERT_TRUE(plan.value().run({.a = given.a, .c = c.data(), .prepared_b = &prepared.value()}).ok());
    EXPECT_EQ(c, whole.c) << to_string(types) << ", prepared";

    GemmArguments more{.a = given.a, .b = given.b, .c = c.data(), .alpha = 3, .beta = -2};
    Whole::run(whole.d, more, {});
    Bytes rows = whole.c;
    for (std::int64_t i = 0; i < 24; i += 3) {
      GemmDescription three = whole.d;
      three.m = 3;
      more.a = static_cast<const std::byte*>(given.a) + i * three.k * whole.in();
      more.c = rows.data() + i * three.n * whole.out();
      Whole::run(three, more, {});
    }
    EXPECT_EQ(rows, c) << to_string(types) << ", beta";
  }
}

/// f32 and f64 have one order on AVX2 and AVX-512.
TEST(Reproducible, OnEitherInstructionSet) {
  for (const char* type : {"f32", "f64"}) {
    const GemmTypes types = parse_gemm_types(type).value();
    const std::string narrow = std::string("avx2_") + type + (type[1] == '3' ? "_fma_6x16" : "_fma_6x8");
    const GemmOptions options{.kernel = narrow};
    if (!Plan::make(contiguous(types, 8, 8, 8), options).ok()) GTEST_SKIP() << "no AVX2";
    Whole whole(types, 70, 50, 1300, options);
    for (const std::int64_t m : {1, 3, 8, 9, 70}) expect_part(whole, 0, m, 0, 50, m % 2 == 0);
  }
}

TEST(Reproducible, WhatCannotKeepItRefuses) {
  GemmDescription d = contiguous({ElementType::f32, ElementType::f32}, 1, 600, 600);
  const GemmOptions options{.kernel = "avx2_f32_vectors", .reproducible = true};
  EXPECT_TRUE(Plan::make(d, options).ok()) << "sums across the lines of B are those of the other kernels";
  d.b = {.row_stride = 1, .column_stride = 600};
  const Result<Plan> plan = Plan::make(d, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.status().message().find("depends on more than k"), std::string::npos) << plan.status().message();
  const Result<Plan> explained = Plan::make(d, {.reproducible = true});
  ASSERT_TRUE(explained.ok());
  EXPECT_NE(explained.value().explain().find("reproducible"), std::string::npos);
}

}  // namespace
}  // namespace exactile::test
