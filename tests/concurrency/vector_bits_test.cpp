// SPDX-License-Identifier: Apache-2.0
// The bits of products with few rows or columns: the same on every instruction set, and, where sums run across the
// lines of the larger operand, those of the other kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "support/check_case.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

/// Sizes, and whether B is transposed: its sums then run along its lines. Terms beyond a block of 8192, terms and
/// columns that fill no vector, one line, and more vectors than one pass takes.
struct FewRows {
  std::int64_t m, n, k;
  bool b_turned;
};
constexpr FewRows products[] = {{1, 37, 9001, true},   {3, 70, 16500, true},  {8, 21, 777, true},
                                {2, 600, 65, true},    {1, 1, 30011, true},   {5, 6, 8193, true},
                                {1, 5001, 700, false}, {6, 130, 1030, false}, {8, 33, 5000, false}};

GemmDescription description_of(GemmTypes types, const FewRows& few) {
  GemmDescription d = contiguous(types, few.m, few.n, few.k);
  if (few.b_turned) d.b = {.row_stride = 1, .column_stride = few.k};
  return d;
}

/// C of the product, beginning with the C of another; nothing where there is no such kernel here.
std::optional<std::vector<std::byte>> product(const GemmDescription& d, const std::string& kernel, int threads) {
  Matrices matrices(d, 31);
  GemmArguments arguments = matrices.arguments();
  Status status = gemm(d, arguments, {.kernel = kernel, .threads = threads});
  arguments.alpha = 3;
  arguments.beta = -2;
  if (status.ok()) status = gemm(d, arguments, {.kernel = kernel, .threads = threads});
  if (status.code() == StatusCode::unsupported || status.code() == StatusCode::device_unavailable) return std::nullopt;
  EXPECT_TRUE(status.ok()) << status.message();
  return matrices.c();
}

std::string name_of_kernels(GemmTypes types) {
  if (types == GemmTypes{ElementType::i32, ElementType::i64}) return "i32_i64";
  return std::string(to_string(types.input == ElementType::u8 ? ElementType::i8 : types.input));
}

TEST(VectorBits, DoNotDependOnTheInstructionSetOrOnThreads) {
  for (const GemmTypes types : all_gemm_types())
    for (const FewRows& few : products) {
      const GemmDescription d = description_of(types, few);
      const std::string type = name_of_kernels(types);
      const auto narrow = product(d, "avx2_" + type + "_vectors", 1);
      if (!narrow) continue;
      for (const int threads : {1, 3}) {
        const auto wide = product(d, "avx512_" + type + "_vectors", threads);
        if (wide) {
          EXPECT_TRUE(*wide == *narrow) << to_string(types) << " " << few.m << " x " << few.n << " x " << few.k;
        }
      }
    }
}

TEST(VectorBits, AcrossLinesAreThoseOfTheOtherKernels) {
  for (const ElementType type : {ElementType::f32, ElementType::f64})
    for (const FewRows& few : products) {
      if (few.b_turned) continue;
      const GemmDescription d = description_of({type, type}, few);
      const std::string name(to_string(type));
      const auto vectors = product(d, "avx2_" + name + "_vectors", 3);
      const auto direct = product(d, "avx2_" + name + "_fma_direct", 1);
      if (vectors) {
        EXPECT_TRUE(vectors == direct) << name << " " << few.m << " x " << few.n << " x " << few.k;
      }
    }
}

/// Blocks of terms, and lines that are copied because nothing in them is contiguous.
TEST(VectorBits, LongSumsKeepTheBound) {
  for (const KernelOfType& kernel : available_kernels()) {
    if (!kernel.kernel.ends_with("_vectors")) continue;
    verification::Case test = contiguous_case(kernel.types, 2, 11, 17001);
    test.options.kernel = kernel.kernel;
    test.alpha = 2;
    test.beta = -1;
    for (const OperandLayout& b : {OperandLayout{1, 17003}, OperandLayout{11, 1}, OperandLayout{23, 2}}) {
      test.description.b = b;
      EXPECT_EQ(check_case(test), Outcome::passed);
    }
  }
}

/// One row more leaves the bits of the others as they are, where sums run across lines.
/// Two products of the least i16 add up to 2^31, which wraps.
TEST(VectorBits, TheLeastIntegersWrap) {
  const GemmTypes types{ElementType::i16, ElementType::i32};
  for (const char* kernel : {"avx2_i16_vectors", "avx512_i16_vectors"})
    for (const std::int64_t k : {2, 33, 65})
      for (const std::int64_t n : {1, 9}) {
        const GemmDescription d = description_of(types, {1, n, k, true});
        const std::vector<std::int16_t> a(static_cast<std::size_t>(k), -32768),
            b(static_cast<std::size_t>(n * k), -32768);
        std::vector<std::int32_t> c(static_cast<std::size_t>(n));
        const Status status = gemm(d, {.a = a.data(), .b = b.data(), .c = c.data()}, {.kernel = kernel, .threads = 1});
        if (status.code() == StatusCode::unsupported || status.code() == StatusCode::device_unavailable) continue;
        ASSERT_TRUE(status.ok()) << status.message();
        const auto expected = static_cast<std::int32_t>(static_cast<std::uint32_t>(k) << 30);
        for (const std::int32_t sum : c) EXPECT_EQ(sum, expected) << kernel << ' ' << n << ' ' << k;
      }
}

TEST(VectorBits, TheNinthRowChangesNothing) {
  const GemmDescription nine = contiguous({ElementType::f32, ElementType::f32}, 9, 300, 1000);
  Matrices matrices(nine, 32);
  ASSERT_TRUE(gemm(nine, matrices.arguments()).ok());
  const Matrices all = matrices;
  GemmDescription eight = nine;
  eight.m = 8;
  matrices.clear_c();
  ASSERT_TRUE(gemm(eight, matrices.arguments()).ok());
  EXPECT_TRUE(matrices.c_rows(0, 8) == all.c_rows(0, 8));
}

bool takes_vectors(const GemmDescription& d, const GemmOptions& options) {
  const Result<Plan> plan = Plan::make(d, options);
  EXPECT_TRUE(plan.ok());
  return plan.ok() && plan.value().summary().kernel.ends_with("_vectors");
}

/// Where their bits are their own the planner takes these kernels or others for any number of threads and any batch.
TEST(VectorBits, ThePlannerChoosesThemForTheProductAlone) {
  int taken = 0;
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::cf32})
    for (const FewRows& few : products) {
      if (!few.b_turned) continue;
      GemmDescription d = description_of({type, type}, few);
      const bool alone = takes_vectors(d, {.threads = 1});
      taken += alone ? 1 : 0;
      for (const int threads : {2, 16}) {
        EXPECT_EQ(takes_vectors(d, {.threads = threads}), alone)
            << few.m << " x " << few.n << " x " << few.k << " on " << threads << " threads";
      }
      d.batch_count = 50;
      d.c.batch_stride = few.m * few.n;
      EXPECT_EQ(takes_vectors(d, {.threads = 2}), alone) << few.m << " x " << few.n << " x " << few.k << ", a batch";
      EXPECT_FALSE(takes_vectors(d, {.reproducible = true}));
    }
  const Result<Plan> some = Plan::make(description_of({ElementType::f32, ElementType::f32}, products[0]));
  ASSERT_TRUE(some.ok());
  if (some.value().summary().kernel != "portable_blocked") {
    EXPECT_GT(taken, 0);
  }
}

}  // namespace
}  // namespace exactile::test
