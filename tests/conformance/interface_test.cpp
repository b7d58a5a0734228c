// SPDX-License-Identifier: Apache-2.0
// The public face: typed calls of every type, plans made once and run often, what a plan says of itself.
#include <algorithm>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "conformance/support.hpp"

namespace exactile::test {
namespace {

template <class T>
T value(int x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(x);
  else
    return T(static_cast<float>(x));
}

template <class A, class Out, class B = A>
void expect_typed_product() {
  std::vector<A> a;
  std::vector<B> b;
  for (int t = 0; t < 6; ++t) a.push_back(value<A>(t - 2));
  for (int t = 0; t < 12; ++t) b.push_back(value<B>(t % 5 - 1));
  std::vector<Out> c(8);
  constexpr GemmTypes types{element_type_v<A>, element_type_v<Out>, element_type_v<B>};
  // The second call finds the plan of the first.
  for (const int alpha : {2, 3}) {
    const Status status = gemm(MatrixView<const A>(a.data(), 2, 3), MatrixView<const B>(b.data(), 3, 4),
                               MatrixView<Out>(c.data(), 2, 4), {.alpha = value<Accumulator<A, Out>>(alpha)});
    ASSERT_TRUE(status.ok()) << status.message();
    const verification::ErrorReport report = verification::compare(
        contiguous(types, 2, 4, 3), {.a = a.data(), .b = b.data(), .c = c.data(), .alpha = alpha}, nullptr);
    EXPECT_TRUE(report.passed) << to_string(types) << report.failure;
  }
}

TEST(Interface, TypedCallsOfEveryType) {
  expect_typed_product<double, double>();
  expect_typed_product<float, float>();
  expect_typed_product<Float16, Float16>();
  expect_typed_product<Float16, float>();
  expect_typed_product<BFloat16, BFloat16>();
  expect_typed_product<BFloat16, float>();
  expect_typed_product<Float8E4M3, float>();
  expect_typed_product<Float8E4M3, BFloat16>();
  expect_typed_product<Float8E5M2, float>();
  expect_typed_product<Float8E5M2, BFloat16>();
  expect_typed_product<std::int64_t, std::int64_t>();
  expect_typed_product<std::int32_t, std::int32_t>();
  expect_typed_product<std::int8_t, std::int32_t>();
  expect_typed_product<std::uint8_t, std::int32_t>();
  expect_typed_product<std::uint8_t, std::int32_t, std::int8_t>();
  expect_typed_product<std::int8_t, std::int32_t, std::uint8_t>();
  expect_typed_product<std::int16_t, std::int32_t>();
  expect_typed_product<std::int32_t, std::int64_t>();
  expect_typed_product<std::complex<double>, std::complex<double>>();
  expect_typed_product<std::complex<float>, std::complex<float>>();
}

TEST(Interface, IntegersWrap) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t a[] = {largest, largest};
  const std::int64_t b[] = {2, 3};
  std::int64_t c = 5;
  const GemmDescription d = contiguous({ElementType::i64, ElementType::i64}, 1, 1, 2);
  ASSERT_TRUE(gemm(d, {.a = a, .b = b, .c = &c, .alpha = largest, .beta = largest}).ok());
  // Modulo 2^64 largest is 2^63 - 1, its square 1: alpha * 5 * largest + 5 * largest = 5 + 5 * 2^63 - 5.
  EXPECT_EQ(c, std::numeric_limits<std::int64_t>::min());
}

TEST(Interface, BytesOfLargestMagnitude) {
  const std::vector<std::int8_t> a(200, -128);
  std::int32_t c = 0;
  const GemmDescription d = contiguous({ElementType::i8, ElementType::i32}, 1, 1, 200);
  ASSERT_TRUE(gemm(d, {.a = a.data(), .b = a.data(), .c = &c}).ok());
  EXPECT_EQ(c, 200 * 16384);
}

TEST(Interface, BatchesOfViews) {
  std::vector<double> a(2 * 6, 1);
  std::vector<double> b(6, 2);
  std::vector<double> c(2 * 4, -1);
  const MatrixView<double> one(a.data(), 2, 3);
  const MatrixView<double> shared(b.data(), 3, 2);
  const MatrixView<double> out(c.data(), 2, 2);
  ASSERT_TRUE(gemm(BatchView<double>{one, 2, 6}, BatchView<double>{shared, 2, 0}, BatchView<double>{out, 2, 4}).ok());
  EXPECT_EQ(c, std::vector<double>(8, 6.0));
  double* a_pointers[] = {a.data() + 6, a.data()};
  double* b_pointers[] = {b.data(), b.data()};
  double* c_pointers[] = {c.data() + 4, c.data()};
  ASSERT_TRUE(gemm(PointerBatchView<double>{one, 2, a_pointers}, PointerBatchView<double>{shared, 2, b_pointers},
                   PointerBatchView<double>{out, 2, c_pointers}, {.alpha = 0.5, .beta = 1})
                  .ok());
  EXPECT_EQ(c, std::vector<double>(8, 9.0));
}

TEST(Interface, ScaledViews) {
  const std::vector<Float8E4M3> a(6, Float8E4M3(2.0F));
  const std::vector<Float8E4M3> b(12, Float8E4M3(0.5F));
  const float rows[] = {1, 10};
  const float columns[] = {1, 2, 3, 4};
  std::vector<BFloat16> c(8);
  const Status status =
      gemm(MatrixView<const Float8E4M3>(a.data(), 2, 3), MatrixView<const Float8E4M3>(b.data(), 3, 4),
           MatrixView<BFloat16>(c.data(), 2, 4), {.alpha = 0.5F, .row_scales = rows, .column_scales = columns});
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(static_cast<float>(c[4 * i + j]), 1.5F * rows[i] * columns[j]);
}

TEST(Interface, PlansSayWhatIsScaled) {
  GemmDescription d = contiguous({ElementType::f8e4m3, ElementType::bf16}, 4, 5, 6);
  const auto text = [&] { return Plan::make(d).value().explain(); };
  EXPECT_EQ(text().find("scaled"), std::string::npos);
  d.row_scales = true;
  EXPECT_NE(text().find("rows of A scaled"), std::string::npos) << text();
  d.column_scales = true;
  EXPECT_NE(text().find("rows of A and columns of B scaled"), std::string::npos) << text();
  d.row_scales = false;
  EXPECT_NE(text().find("columns of B scaled"), std::string::npos) << text();
}

TEST(Interface, PlansCountTheOldCThatScalesKeep) {
  for (const KernelOfType& kernel : available_kernels()) {
    // The engine's kernels know no scales: these are a second pass over C, which must still know what C was.
    if (!kernel.kernel.starts_with("avx") && !kernel.kernel.starts_with("neon")) continue;
    // A narrower C is rounded with all that follows the sums, and keeps nothing; integers and complex numbers have
    // no scales.
    if (kernel.types.output != accumulator_type(kernel.types) || !is_floating(kernel.types.input) ||
        is_complex(kernel.types.input))
      continue;
    GemmDescription d = contiguous(kernel.types, 40, 50, 60);
    const Result<Plan> sums = Plan::make(d, {.kernel = kernel.kernel});
    d.row_scales = true;
    const Result<Plan> scaled = Plan::make(d, {.kernel = kernel.kernel});
    if (sums.status().code() == StatusCode::unsupported) continue;
    ASSERT_TRUE(sums.ok() && scaled.ok()) << test_name(kernel) << ": " << scaled.status().message();
    for (const Plan& plan : {sums.value(), scaled.value()}) {
      EXPECT_EQ(plan.kernel(), kernel.kernel);
      EXPECT_EQ(plan.workspace_bytes(), plan.summary().workspace_bytes);
    }
    const std::int64_t c_bytes = d.m * d.n * (kernel.types.output == ElementType::f64 ? 8 : 4);
    EXPECT_EQ(scaled.value().summary().workspace_bytes, sums.value().summary().workspace_bytes + c_bytes)
        << test_name(kernel);
  }
}

TEST(Interface, PlansRunOften) {
  for (const KernelOfType& kernel : everything()) {
    const GemmDescription d = contiguous(kernel.types, 9, 21, 34);
    const Result<Plan> plan = Plan::make(d, {.kernel = kernel.kernel});
    if (!plan.ok() && plan.status().code() == StatusCode::unsupported && !kernel.kernel.empty()) continue;
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan.value().description(), d);
    const Plan copy = plan.value();
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      Matrices matrices(d, seed);
      ASSERT_TRUE(copy.run(matrices.arguments()).ok());
      const verification::ErrorReport report = verification::compare(d, matrices.arguments(), nullptr);
      EXPECT_TRUE(report.passed) << test_name(kernel) << ": " << report.failure;
      const std::vector<std::byte> first = matrices.c();
      matrices.clear_c();
      ASSERT_TRUE(plan.value().run(matrices.arguments()).ok());
      EXPECT_EQ(matrices.c(), first) << test_name(kernel);
    }
  }
}

TEST(Interface, PlansExplainThemselves) {
  for (const GemmTypes types : all_gemm_types()) {
    const Result<Plan> plan = Plan::make(contiguous(types, 100, 110, 120));
    ASSERT_TRUE(plan.ok()) << to_string(types) << ": " << plan.status().message();
    const PlanSummary summary = plan.value().summary();
    const std::string text = plan.value().explain();
    EXPECT_NE(text.find(summary.kernel), std::string::npos);
    EXPECT_EQ(summary.accumulator, to_string(accumulator_type(types)));
    EXPECT_GT(summary.operations, 0);
    EXPECT_GT(summary.minimum_bytes, 0);
    EXPECT_GE(summary.model_bytes, summary.minimum_bytes * 0.5);
    EXPECT_LE(summary.workspace_bytes, (std::int64_t{32} << 20) * summary.threads);
    // A backend that is not here is one candidate, which says why.
    const auto of_missing = [](const Candidate& c) {
      return c.kernel == "all of " + std::string(to_string(c.backend));
    };
    EXPECT_EQ(summary.candidates.size(),
              kernels().size() + static_cast<std::size_t>(std::ranges::count_if(summary.candidates, of_missing)));
    int chosen = 0;
    for (const Candidate& candidate : summary.candidates) {
      chosen += candidate.chosen ? 1 : 0;
      EXPECT_FALSE(candidate.reason.empty()) << candidate.kernel;
      const auto alike = std::ranges::count_if(summary.candidates, [&](const Candidate& c) {
        return !c.supported && c.backend == candidate.backend && c.reason == candidate.reason;
      });
      // Of very many that are refused for one reason their number is said.
      const std::string told = candidate.supported || alike <= 12
                                   ? candidate.kernel
                                   : "x " + std::to_string(alike) + " of " + std::string(to_string(candidate.backend)) +
                                         ": " + candidate.reason + "\n";
      EXPECT_NE(text.find(told), std::string::npos) << candidate.kernel;
      EXPECT_EQ(candidate.chosen, candidate.kernel == summary.kernel);
    }
    EXPECT_EQ(chosen, 1);
  }
}

TEST(Interface, ListsAreComplete) {
  std::vector<std::string> names;
  bool has_naive = false;
  for (const KernelInfo& kernel : kernels()) {
    EXPECT_EQ(std::count(names.begin(), names.end(), kernel.name), 0) << kernel.name;
    names.push_back(kernel.name);
    EXPECT_TRUE(kernel.role == "ladder" || kernel.role == "engine") << kernel.name << ": " << kernel.role;
    EXPECT_FALSE(kernel.summary.empty());
    EXPECT_FALSE(kernel.types.empty());
    has_naive = has_naive || (kernel.name == "cpu_naive" && kernel.available);
  }
  EXPECT_TRUE(has_naive);
  ASSERT_FALSE(devices().empty());
  for (const DeviceInfo& device : devices()) EXPECT_EQ(device.available, device.reason.empty()) << device.name;
}

TEST(Interface, EveryTypeHasAnEngineKernelInEveryIsa) {
  for (const GemmTypes types : all_gemm_types()) {
    const Result<Plan> plan = Plan::make(contiguous(types, 50, 50, 50));
    EXPECT_TRUE(plan.ok()) << to_string(types) << ": " << plan.status().message();
  }
}

}  // namespace
}  // namespace exactile::test
