// SPDX-License-Identifier: Apache-2.0
// What is refused, with which code, and that the sentence names the argument, its value and what was expected.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "exactile/exactile.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

constexpr GemmTypes f32{ElementType::f32, ElementType::f32};
constexpr GemmTypes i32{ElementType::i32, ElementType::i32};
constexpr GemmTypes cf32{ElementType::cf32, ElementType::cf32};
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

void expect_refusal(const Status& status, StatusCode code, const std::vector<std::string>& words) {
  EXPECT_EQ(status.code(), code) << status.message();
  for (const std::string& word : words)
    EXPECT_NE(status.message().find(word), std::string_view::npos) << "no '" << word << "' in: " << status.message();
}

Status make(const GemmDescription& description, const GemmOptions& options = {}) {
  return Plan::make(description, options).status();
}

TEST(Refusals, NegativeSizes) {
  GemmDescription d = contiguous(f32, 4, 5, 6);
  d.m = -4;
  expect_refusal(make(d), StatusCode::invalid_argument, {"m", "-4", "expected"});
  d = contiguous(f32, 4, 5, 6);
  d.n = -1;
  expect_refusal(make(d), StatusCode::invalid_argument, {"n", "-1", "expected"});
  d = contiguous(f32, 4, 5, 6);
  d.k = std::numeric_limits<std::int64_t>::min();
  expect_refusal(make(d), StatusCode::invalid_argument, {"k", "-9223372036854775808", "expected"});
  d = contiguous(f32, 4, 5, 6);
  d.batch_count = -2;
  expect_refusal(make(d), StatusCode::invalid_argument, {"batch_count", "-2", "expected"});
}

TEST(Refusals, SizesWhoseProductsOverflow) {
  const std::int64_t half = std::int64_t{1} << 32;
  expect_refusal(make({.types = f32, .m = half, .n = half, .k = 1, .a = {1, 1}, .b = {0, 0}, .c = {half, 1}}),
                 StatusCode::invalid_argument, {"4294967296", "64 bits"});
  expect_refusal(make({.types = f32, .m = 2, .n = 1, .k = 1, .a = {largest, 1}, .b = {1, 1}, .c = {1, 1}}),
                 StatusCode::invalid_argument, {"a", "9223372036854775807", "expected"});
  expect_refusal(
      make({.types = f32, .m = 2, .n = 2, .k = 3, .a = {3, 1}, .b = {-largest / 2, -largest / 2}, .c = {2, 1}}),
      StatusCode::invalid_argument, {"b", "expected"});
  expect_refusal(make({.types = f32,
                       .m = 2,
                       .n = 2,
                       .k = 2,
                       .a = {2, std::numeric_limits<std::int64_t>::min()},
                       .b = {2, 1},
                       .c = {2, 1}}),
                 StatusCode::invalid_argument, {"a", "expected"});
  GemmDescription d = contiguous(f32, 1000, 1000, 10);
  d.batch_count = std::int64_t{1} << 50;
  expect_refusal(make(d), StatusCode::invalid_argument, {"batch_count", "1125899906842624"});
}

TEST(Refusals, StridesOfC) {
  const auto refused = [](const OperandLayout& c, std::int64_t batch_count, const std::vector<std::string>& words) {
    GemmDescription d = contiguous(f32, 4, 5, 6, batch_count);
    d.c = c;
    expect_refusal(make(d), StatusCode::invalid_argument, words);
  };
  refused({-5, 1}, 1, {"c", "row stride", "-5", "expected"});
  refused({5, 0}, 1, {"c", "column stride", "0", "expected"});
  refused({4, 1}, 1, {"c", "4", "overlap", "expected"});
  refused({1, 3}, 1, {"c", "3", "overlap", "expected"});
  refused({2, 2}, 1, {"c", "overlap"});
  refused({5, 1, 0}, 2, {"c", "batch stride", "0", "expected"});
  refused({5, 1, 19}, 2, {"c", "batch stride", "19", "expected"});
}

TEST(Refusals, StridesOfCThatAreFine) {
  const auto accepted = [](const OperandLayout& c, std::int64_t batch_count) {
    GemmDescription d = contiguous(f32, 4, 5, 6, batch_count);
    d.c = c;
    const Status status = make(d);
    EXPECT_TRUE(status.ok()) << status.message();
  };
  accepted({5, 1}, 1);
  accepted({1, 4}, 1);
  accepted({10, 2}, 1);
  accepted({15, 1, 5}, 3);  // rows of three products interleaved
  accepted({5, 1, 0, true}, 3);
  GemmDescription line = contiguous(f32, 1, 5, 6);
  line.c = {0, 1};  // the stride of the only row is never used
  EXPECT_TRUE(make(line).ok());
}

TEST(Refusals, EmptyProductsNeedNoStrides) {
  for (const auto& [m, n, batch] : {std::tuple{4, 0, 1}, {0, 5, 1}, {4, 5, 0}, {0, 0, 0}}) {
    const GemmDescription d{.types = f32, .m = m, .n = n, .k = 3, .a = {}, .b = {}, .c = {0, 0}, .batch_count = batch};
    EXPECT_TRUE(make(d).ok()) << m << " x " << n << " times " << batch << ": " << make(d).message();
    EXPECT_TRUE(gemm(d, {}).ok());
  }
}

TEST(Refusals, TypesThatHaveNoProduct) {
  expect_refusal(make(contiguous({ElementType::f32, ElementType::f64}, 2, 2, 2)), StatusCode::unsupported,
                 {"f32->f64", "i8->i32", "expected"});
  expect_refusal(make(contiguous({ElementType::i8, ElementType::i8}, 2, 2, 2)), StatusCode::unsupported, {"i8"});
  expect_refusal(make(contiguous({ElementType::i8, ElementType::i32, ElementType::i16}, 2, 2, 2)),
                 StatusCode::unsupported, {"i8xi16->i32", "i8xu8->i32", "expected"});
}

TEST(Refusals, NamesThatThereAreNot) {
  const GemmDescription d = contiguous(f32, 2, 2, 2);
  expect_refusal(make(d, {.backend = static_cast<Backend>(9)}), StatusCode::invalid_argument, {"backend", "9"});
  expect_refusal(make(d, {.kernel = "cpu_niave"}), StatusCode::unknown_name,
                 {"cpu_niave", "near it: cpu_naive", "lists all " + std::to_string(kernels().size())});
  EXPECT_LT(make(d, {.kernel = std::string(1 << 20, 'x')}).message().size(), 1000U);
  const GemmDescription empty = contiguous(f32, 0, 2, 2);
  expect_refusal(make(empty, {.kernel = "fastest"}), StatusCode::unknown_name, {"fastest"});
}

TEST(Refusals, AccuraciesBeyondStandard) {
  for (const Accuracy accuracy : {Accuracy::compensated, Accuracy::correctly_rounded}) {
    const std::string name(to_string(accuracy));
    const GemmDescription plain = contiguous(f32, 2, 2, 2);
    EXPECT_TRUE(make(plain, {.accuracy = accuracy}).ok());
    expect_refusal(make(plain, {.kernel = "portable_blocked", .accuracy = accuracy}), StatusCode::unsupported,
                   {"portable_blocked", "keeps no accuracy beyond standard"});
    GemmDescription scaled = plain;
    scaled.column_scales = true;
    expect_refusal(make(scaled, {.accuracy = accuracy}), StatusCode::unsupported, {name, "column_scales", "no scales"});
    GemmDescription curved = plain;
    curved.activation = Activation::gelu;
    expect_refusal(make(curved, {.accuracy = accuracy}), StatusCode::unsupported, {name, "gelu", "relu"});
  }
  expect_refusal(make(contiguous(f32, 2, 2, 2), {.kernel = "portable_certified"}), StatusCode::unsupported,
                 {"portable_certified", "compensated and correctly_rounded only"});
}

TEST(Refusals, ReducedIsTakenForEveryType) {
  for (const GemmTypes types : all_gemm_types()) {
    const Status status = make(contiguous(types, 2, 2, 2), {.accuracy = Accuracy::reduced});
    EXPECT_TRUE(status.ok()) << to_string(types) << ": " << status.message();
    EXPECT_EQ(error_beyond_gamma(Accuracy::standard, types.input), 0);
  }
  EXPECT_EQ(error_beyond_gamma(Accuracy::reduced, ElementType::f64), 0);
  EXPECT_EQ(error_beyond_gamma(Accuracy::reduced, ElementType::f32), 0x1p-9 + 0x1p-20);
}

TEST(Refusals, Threads) {
  expect_refusal(make(contiguous(f32, 2, 2, 2), {.threads = -1}), StatusCode::invalid_argument,
                 {"threads", "-1", "expected"});
}

TEST(Refusals, DevicesOfTheProcessor) {
  const GemmDescription d = contiguous(f32, 2, 2, 2);
  expect_refusal(make(d, {.device = 5}), StatusCode::invalid_argument, {"device", "5", "expected the backend"});
  expect_refusal(make(d, {.backend = Backend::cpu, .device = 5}), StatusCode::invalid_argument, {"device", "5", "cpu"});
  expect_refusal(make(d, {.kernel = "cpu_naive", .device = -1}), StatusCode::invalid_argument, {"-1", "cpu_naive"});
}

TEST(Refusals, Epilogues) {
  GemmDescription d = contiguous(cf32, 2, 2, 2);
  d.activation = Activation::relu;
  expect_refusal(make(d), StatusCode::unsupported, {"relu", "cf32"});
  d = contiguous(i32, 2, 2, 2);
  d.activation = Activation::gelu;
  expect_refusal(make(d), StatusCode::unsupported, {"gelu", "i32"});
  d.activation = Activation::relu;
  EXPECT_TRUE(make(d).ok());
}

TEST(Refusals, ScalesOfTypesThatHaveNone) {
  for (const GemmTypes types : all_gemm_types()) {
    GemmDescription rows = contiguous(types, 2, 3, 4);
    GemmDescription columns = rows;
    rows.row_scales = true;
    columns.column_scales = true;
    if (is_floating(types.input) && !is_complex(types.input)) {
      EXPECT_TRUE(make(rows).ok()) << make(rows).message();
      EXPECT_TRUE(make(columns).ok()) << make(columns).message();
    } else {
      expect_refusal(make(rows), StatusCode::unsupported, {"row_scales", to_string(types), "expected"});
      expect_refusal(make(columns), StatusCode::unsupported, {"column_scales", to_string(types), "expected"});
    }
  }
}

TEST(Refusals, ScalesThatAreMissing) {
  GemmDescription d = contiguous(f32, 2, 3, 4);
  Matrices matrices(d, 1);
  const float scales[] = {1, 2, 3};
  d.row_scales = d.column_scales = true;
  GemmArguments arguments = matrices.arguments();
  arguments.column_scales = scales;
  expect_refusal(gemm(d, arguments), StatusCode::invalid_argument, {"row_scales", "null", "2", "f32", "expected"});
  arguments = matrices.arguments();
  arguments.row_scales = scales;
  expect_refusal(gemm(d, arguments), StatusCode::invalid_argument, {"column_scales", "null", "3", "f32", "expected"});
  arguments.alpha = 0;  // nothing is read
  EXPECT_TRUE(gemm(d, arguments).ok());
}

TEST(Refusals, NullPointers) {
  const GemmDescription d = contiguous(f32, 2, 2, 2);
  Matrices matrices(d, 1);
  GemmArguments arguments = matrices.arguments();
  arguments.a = nullptr;
  expect_refusal(gemm(d, arguments), StatusCode::invalid_argument, {"a", "null", "expected"});
  arguments = matrices.arguments();
  arguments.b = nullptr;
  expect_refusal(gemm(d, arguments), StatusCode::invalid_argument, {"b", "null", "expected"});
  arguments = matrices.arguments();
  arguments.c = nullptr;
  expect_refusal(gemm(d, arguments), StatusCode::invalid_argument, {"c", "null", "expected"});
  GemmDescription with_bias = d;
  with_bias.bias = Bias::per_row;
  expect_refusal(gemm(with_bias, matrices.arguments()), StatusCode::invalid_argument, {"bias", "null", "expected"});
}

TEST(Refusals, NullInPointerArrays) {
  GemmDescription d = contiguous(f32, 2, 2, 2, 2);
  std::vector<float> data(4);
  std::vector<float> output(8);
  d.a = {2, 1, 0, true};
  d.b = {2, 1, 0};
  const void* pointers[] = {data.data(), nullptr};
  expect_refusal(gemm(d, {.a = pointers, .b = data.data(), .c = output.data()}), StatusCode::invalid_argument,
                 {"a", "1", "null"});
}

TEST(Refusals, ScalarsThatTheTypeCannotHold) {
  const GemmDescription d = contiguous(i32, 2, 2, 2);
  Matrices matrices(d, 1);
  GemmArguments arguments = matrices.arguments();
  arguments.alpha = 2.5;
  expect_refusal(gemm(d, arguments), StatusCode::invalid_argument, {"alpha", "2.5", "i32"});
  arguments = matrices.arguments();
  arguments.beta = std::numeric_limits<double>::quiet_NaN();
  expect_refusal(gemm(d, arguments), StatusCode::invalid_argument, {"beta", "nan", "i32"});
  const GemmDescription real = contiguous(f32, 2, 2, 2);
  Matrices floats(real, 1);
  arguments = floats.arguments();
  arguments.alpha = std::complex<double>(1, 1);
  expect_refusal(gemm(real, arguments), StatusCode::invalid_argument, {"alpha", "complex", "f32"});
}

/// Bindings hand over any number.
TEST(Refusals, ValuesThatNoEnumerationHas) {
  const GemmDescription good = contiguous(f32, 2, 2, 2);
  Matrices matrices(good, 1);
  const auto refuses = [&](const GemmDescription& d, const GemmOptions& options, const std::vector<std::string>& says) {
    expect_refusal(gemm(d, matrices.arguments(), options), StatusCode::invalid_argument, says);
  };
  refuses(good, {.accuracy = static_cast<Accuracy>(9)}, {"accuracy = 9", "expected reduced, standard"});
  refuses(good, {.memory = static_cast<Memory>(9)}, {"memory = 9", "expected host or device"});
  GemmDescription bad = good;
  bad.bias = static_cast<Bias>(9);
  refuses(bad, {}, {"bias = 9", "expected none, per_row"});
  bad = good;
  bad.activation = static_cast<Activation>(9);
  refuses(bad, {}, {"activation = 9", "expected none, relu"});
  bad = good;
  bad.types.input = static_cast<ElementType>(99);
  expect_refusal(gemm(bad, matrices.arguments()), StatusCode::unsupported,
                 {"unknownxf32->f32", "expected one of: f64"});
  const auto plan = Plan::make(good);
  ASSERT_TRUE(plan.ok());
  expect_refusal(plan.value().prepare(static_cast<Operand>(9), matrices.arguments().a).status(),
                 StatusCode::invalid_argument, {"operand = 9", "expected a or b"});
}

TEST(Refusals, ShapesOfTheTypedFace) {
  std::vector<float> data(100);
  std::vector<float> out(100);
  const MatrixView<const float> a(data.data(), 4, 5);
  expect_refusal(gemm(a, MatrixView<const float>(data.data(), 6, 3), MatrixView(out.data(), 4, 3)),
                 StatusCode::invalid_argument, {"4 x 5", "6 x 3", "expected"});
  expect_refusal(gemm(a, MatrixView<const float>(data.data(), 5, 3), MatrixView(out.data(), 4, 4)),
                 StatusCode::invalid_argument, {"c", "4 x 4", "4 x 3"});
  expect_refusal(gemm(MatrixView<const float>(data.data(), -4, 5), MatrixView<const float>(data.data(), 5, 3),
                      MatrixView(out.data(), -4, 3)),
                 StatusCode::invalid_argument, {"a", "-4 x 5", "sizes of 0 or more"});
  using Batch = BatchView<const float>;
  expect_refusal(gemm(Batch{a, 2, 20}, Batch{{data.data(), 5, 3}, 3, 0}, BatchView<float>{{out.data(), 4, 3}, 3, 12}),
                 StatusCode::invalid_argument, {"2, 3, 3", "expected"});
}

/// Broadcast operands bound k by nothing but its type. Nobody will run these; their plans must add up all the same
/// (overflow is for the sanitizer to see, and a negative cost for this).
TEST(Sizes, ExtentsNearTwoToTheSixtyThree) {
  for (const GemmTypes types : all_gemm_types())
    for (const auto& [m, n] : {std::tuple{1, 1}, {1, 5000}, {5000, 1}, {9, 9}, {700, 600}})
      for (const std::int64_t k : {largest, largest - 511, largest / 2, largest / 8}) {
        const GemmDescription d{.types = types, .m = m, .n = n, .k = k, .a = {0, 0}, .b = {0, 0}, .c = {n, 1}};
        const auto plan = Plan::make(d);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        const PlanSummary summary = plan.value().summary();
        EXPECT_GT(summary.model_bytes, 0);
        for (const Candidate& candidate : summary.candidates) {
          if (!candidate.supported || candidate.backend != Backend::cpu) continue;
          EXPECT_GT(candidate.cost_seconds, 1e3) << candidate.kernel << ", k = " << k;
        }
      }
}

}  // namespace
}  // namespace exactile::test
