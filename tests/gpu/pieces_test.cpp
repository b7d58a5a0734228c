// SPDX-License-Identifier: Apache-2.0
// f32 kernels that form their sums in pieces err by the length of those, not by that of a chunk of K.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "cuda/tile/summation_order.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t columns = 40;
/// Of K: some chunks, of which CTAs of a cluster share the pieces or have whole ones.
constexpr std::int64_t all_terms[] = {600, 1100, 5000, 12000, 40000};
constexpr float u = 0x1p-24f;

struct PinnedKernel {
  const char* kernel;
  const char* parameters = "";
  std::int64_t most_terms = 1 << 30;
  bool needs_hopper = false;  ///< for its clusters of 16
};
/// For whose chunks' sums a CTA by itself has room.
constexpr std::int64_t most_terms_of_cta = 12000;

bool can_run(const PinnedKernel& by, std::int64_t terms) {
  return terms <= by.most_terms &&
         (!by.needs_hopper || std::ranges::count(cuda_kernels(), "sm90_f64_mma", &KernelOfType::kernel) > 0);
}

struct PiecesCase {
  PinnedKernel by;
  int roundings;  ///< within a chunk, see docs/accuracy.md
};
constexpr PiecesCase cases[] = {
    {{"simt_f32", "BM=32 BN=32 SPLIT_K=1"}, cuda::tile_piece_k + cuda::chunk_k / cuda::tile_piece_k},
    {{"simt_f32", "BM=8 BN=128 SPLIT_K=1"}, cuda::tile_piece_k + cuda::chunk_k / cuda::tile_piece_k},
    {{"simt_f32_sliced_k", "", 1 << 30, true}, cuda::tile_piece_k + cuda::chunk_k / cuda::tile_piece_k}};

/// A 1 in each row, and beside it what 1 loses when one of them is added, but not when there are some.
std::vector<float> rows_with_a_one(const std::vector<std::int64_t>& places, std::int64_t terms) {
  const auto length = static_cast<std::size_t>(terms);
  std::vector<float> a(places.size() * length, 0.75f * u);
  for (std::size_t i = 0; i < places.size(); ++i) a[i * length + static_cast<std::size_t>(places[i])] = 1;
  return a;
}

void expect_short_sums(const PiecesCase& s, std::int64_t terms, bool by_columns) {
  SCOPED_TRACE(std::string(s.by.kernel) + " " + s.by.parameters + ", K of " + std::to_string(terms) +
               (by_columns ? ", B by columns" : ""));
  const std::vector<float> a = rows_with_a_one({0, 37, 520, terms - 1}, terms);
  const std::vector<float> b(static_cast<std::size_t>(columns * terms), 1);
  std::vector<float> c(4 * columns);
  GemmDescription d = contiguous_case({ElementType::f32, ElementType::f32}, 4, columns, terms).description;
  if (by_columns) d.b = {1, terms};
  const Result<Plan> plan =
      Plan::make(d, {.backend = Backend::cuda, .kernel = s.by.kernel, .parameters = s.by.parameters});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Status status = plan.value().run({.a = a.data(), .b = b.data(), .c = c.data()});
  ASSERT_TRUE(status.ok()) << status.message();
  const double sum = 1 + static_cast<double>(terms - 1) * 0.75 * u;
  const double roundings = s.roundings + static_cast<double>(terms / cuda::chunk_k) + 1;
  for (const float element : c) EXPECT_LE(std::abs(element - sum), roundings * u * sum);
}

TEST(PiecesOnDevice, KeepSumsShort) {
  SKIP_WITHOUT_GPU();
  for (const PiecesCase& s : cases)
    for (const std::int64_t terms : all_terms)
      for (const bool by_columns : {false, true})
        if (can_run(s.by, terms)) expect_short_sums(s, terms, by_columns);
}

/// Frobenius error of a product of positive elements, over the norm.
double error_of_positive(const char* kernel, std::int64_t k) {
  constexpr std::size_t m = 40, n = 40;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  const auto depth = static_cast<std::size_t>(k);
  std::vector<float> a(m * depth), b(depth * n), c(m * n);
  for (float& element : a) element = uniform(random);
  for (float& element : b) element = uniform(random);
  const Result<Plan> plan = Plan::make(contiguous_case({ElementType::f32, ElementType::f32}, m, n, k).description,
                                       {.backend = Backend::cuda, .kernel = kernel});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return INFINITY;
  const Status status = plan.value().run({.a = a.data(), .b = b.data(), .c = c.data()});
  EXPECT_TRUE(status.ok()) << status.message();
  double errors = 0, squares = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t t = 0; t < depth; ++t) sum += double{a[i * depth + t]} * b[t * n + j];
      errors += (c[i * n + j] - sum) * (c[i * n + j] - sum);
      squares += sum * sum;
    }
  return std::sqrt(errors / squares);
}

/// What tensor cores cut off is 1.9e-7 where they sum 64 of K.
TEST(PiecesOnDevice, OfTensorCoresAreShortToo) {
  SKIP_WITHOUT_GPU();
  if (std::ranges::count(cuda_kernels(), "sm90_f32_fp16x3_fused_split_wgmma", &KernelOfType::kernel) == 0)
    GTEST_SKIP() << "needs compute capability 9.0";
  for (const char* kernel :
       {"sm90_f32_fp16x3_fused_split_wgmma", "sm90_f32_fp16x3_split_a_wgmma", "sm90_f32_fp16x3_split_b_wgmma"})
    for (const std::int64_t k : {500, 4096, 12288}) EXPECT_LT(error_of_positive(kernel, k), 1.4e-7) << kernel << k;
}

/// beta is 2.
std::vector<float> product_by(const GemmOptions& options, std::int64_t terms, const std::vector<float>& a,
                              const std::vector<float>& b, std::vector<float> c) {
  const auto n = static_cast<std::int64_t>(b.size()) / terms;
  const auto m = static_cast<std::int64_t>(c.size()) / n;
  const Result<Plan> plan =
      Plan::make(contiguous_case({ElementType::f32, ElementType::f32}, m, n, terms).description, options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return {};
  const Status status = plan.value().run({.a = a.data(), .b = b.data(), .c = c.data(), .beta = 2});
  EXPECT_TRUE(status.ok()) << status.message();
  return c;
}

/// What `kernels` leave is bit for bit what `other` leaves.
void expect_bits_of(const GemmOptions& other, std::int64_t terms, std::initializer_list<PinnedKernel> kernels) {
  SCOPED_TRACE("K of " + std::to_string(terms));
  constexpr std::int64_t m = 70, n = 130;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& e : x) e = normal(random);
    return x;
  };
  const std::vector<float> a = numbers(m * terms), b = numbers(terms * n), c = numbers(m * n);
  const std::vector<float> expected = product_by(other, terms, a, b, c);
  for (const PinnedKernel& by : kernels) {
    if (!can_run(by, terms)) continue;
    const GemmOptions pinned{.backend = Backend::cuda, .kernel = by.kernel, .parameters = by.parameters};
    EXPECT_EQ(product_by(pinned, terms, a, b, c), expected) << by.kernel << ' ' << by.parameters;
  }
}

TEST(PiecesOnDevice, AreTheSameInAllSmallTiles) {
  SKIP_WITHOUT_GPU();
  for (const std::int64_t terms : all_terms)
    expect_bits_of({.backend = Backend::cuda, .kernel = "simt_f32", .parameters = "BM=32 BN=32 SPLIT_K=1"}, terms,
                   {{"simt_f32", "BM=8 BN=128 SPLIT_K=1"},
                    {"simt_f32_sliced_k", "CLUSTER_K=16", 1 << 30, true},
                    {"simt_f32_sliced_k", "CLUSTER_K=4", 1 << 30, true},
                    {"simt_f32_sliced_k", "CLUSTER_K=1", most_terms_of_cta, true}});
}

TEST(PiecesOnDevice, LargeTilesHaveTheProcessorsBits) {
  SKIP_WITHOUT_GPU();
  for (const std::int64_t terms : all_terms)
    expect_bits_of({.backend = Backend::cpu}, terms,
                   {{"simt_f32", "BM=128 BN=128"}, {"simt_f32", "BM=64 BN=128"}, {"simt_f32", "BM=64 BN=64"}});
}

}  // namespace
}  // namespace exactile::test
