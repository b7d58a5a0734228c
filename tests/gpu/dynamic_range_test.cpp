// SPDX-License-Identifier: Apache-2.0
// Products of f32 whose elements each have a range of their own: a few sums of many tiles need fix-up, and are summed
// by themselves. Their bits are the same however the operands lie in memory, and however many rows there are.
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "gpu/by_columns.hpp"
#include "gpu/device_product.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

constexpr GemmTypes f32_types{ElementType::f32, ElementType::f32};
constexpr Shape whole{2300, 2564, 260};  // so many tiles that K is in one part

/// [rows][columns], normal numbers, each times a power of two from 2^-reach to 2^reach.
std::vector<float> wide_range(std::int64_t rows, std::int64_t columns, int reach, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-reach, reach);
  std::vector<float> x(static_cast<std::size_t>(rows * columns));
  for (float& element : x) element = std::ldexp(normal(random), exponent(random));
  return x;
}

/// C, and how many tiles or elements took each path.
struct Counted {
  std::vector<float> c;
  std::array<std::uint64_t, 3> paths{};
};

std::optional<Counted> multiplied(const Context& context, const GemmDescription& d, const std::string& kernel,
                                  const std::vector<float>& a, const std::vector<float>& b) {
  const Result<Plan> plan = Plan::make(d, {.backend = Backend::cuda, .kernel = kernel, .memory = Memory::device});
  if (!plan.ok()) {
    EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << plan.status().message();
    return std::nullopt;
  }
  Counted result{std::vector<float>(static_cast<std::size_t>(d.m * d.n)), {}};
  const auto bytes = [](const auto& x) { return std::ssize(x) * std::int64_t{sizeof(x[0])}; };
  Result<DeviceMemory> on_device[] = {context.allocate(bytes(a)), context.allocate(bytes(b)),
                                      context.allocate(bytes(result.c)), context.allocate(bytes(result.paths))};
  for (const Result<DeviceMemory>& memory : on_device) EXPECT_TRUE(memory.ok()) << memory.status().message();
  auto& [da, db, dc, counts] = on_device;
  EXPECT_TRUE(da.value().upload(a.data(), bytes(a)).ok() && db.value().upload(b.data(), bytes(b)).ok());
  EXPECT_TRUE(dc.value().fill_bytes(0xff).ok() && counts.value().fill_bytes(0).ok());
  Execution execution = context.execution();
  execution.path_counts = counts.value().at();
  const Status status = plan.value().run({.a = da.value().at(), .b = db.value().at(), .c = dc.value().at()}, execution);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(dc.value().download(result.c.data(), bytes(result.c)).ok());
  EXPECT_TRUE(counts.value().download(result.paths.data(), bytes(result.paths)).ok());
  return result;
}

/// Of elements in strides: those that are not what the plain loop may give.
int wrong_ones(const Shape& shape, std::int64_t every, const std::vector<float>& c, const std::vector<float>& a,
               const std::vector<float>& b) {
  int wrong = 0;
  for (std::int64_t i = 0; i < shape.m; ++i)
    for (std::int64_t j = i % every; j < shape.n; j += every) {
      double sum = 0, magnitude = 0;
      for (std::int64_t p = 0; p < shape.k; ++p) {
        const double product = static_cast<double>(a[static_cast<std::size_t>(i * shape.k + p)]) *
                               static_cast<double>(b[static_cast<std::size_t>(p * shape.n + j)]);
        sum += product;
        magnitude += std::abs(product);
      }
      const double error = std::abs(static_cast<double>(c[static_cast<std::size_t>(i * shape.n + j)]) - sum);
      wrong += error <= static_cast<double>(shape.k + 3) * 0x1p-24 * magnitude ? 0 : 1;
    }
  return wrong;
}

TEST(WideRangeOnDevice, DoubtfulElementsHaveTheSameBitsInEveryLayout) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const std::string kernel = "sm90_f32_fp16x3_wgmma";
  for (const int reach : {9, 16}) {  // a few of a tile's elements; many in some warps
    const std::vector<float> a = wide_range(whole.m, whole.k, reach, 1);
    const std::vector<float> b = wide_range(whole.k, whole.n, reach, 2);
    const std::vector<float> a_by_columns = by_columns(a, whole.m, whole.k);
    const std::vector<float> b_by_columns = by_columns(b, whole.k, whole.n);
    std::optional<Counted> first;
    for (const bool a_is_transposed : {false, true})
      for (const bool b_is_transposed : {false, true}) {
        GemmDescription d = contiguous(f32_types, whole.m, whole.n, whole.k, 1);
        if (a_is_transposed) d.a = {1, whole.m};
        if (b_is_transposed) d.b = {1, whole.k};
        const std::optional<Counted> c = multiplied(context.value(), d, kernel, a_is_transposed ? a_by_columns : a,
                                                    b_is_transposed ? b_by_columns : b);
        if (!c) GTEST_SKIP() << kernel << " cannot run here";
        const std::string what = "2^" + std::to_string(reach) + (a_is_transposed ? ", A by columns" : "") +
                                 (b_is_transposed ? ", B by columns" : "");
        if (!first) {
          first = c;
          EXPECT_EQ(wrong_ones(whole, 37, c->c, a, b), 0) << what;
          EXPECT_GT(c->paths[1], 0U) << what << ": nothing needed fix-up";
        }
        EXPECT_EQ(std::memcmp(c->c.data(), first->c.data(), c->c.size() * 4), 0) << what;
        EXPECT_EQ(c->paths, first->paths) << what;
      }
  }
}

/// Where K is split, or a chunk is all there is of it, elements that need fix-up are summed where they are found.
TEST(WideRangeOnDevice, DoubtfulElementsHaveTheSameBitsWhateverTheRows) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  constexpr Shape shapes[] = {{150, 260, 1500}, {70, 132, 40000}, {130, 1500, 64}, {130, 1500, 200}, {100, 1400, 520}};
  constexpr std::int64_t few_rows = 37;
  for (const std::string kernel : {"sm90_f32_fp16x3_wgmma", "sm90_f32_fp16x3_split_a_wgmma",
                                   "sm90_f32_fp16x3_split_b_wgmma", "sm90_f32_fp16x3_fused_split_wgmma"}) {
    std::uint64_t fixed_up = 0;
    bool has_run = false;
    for (const Shape& shape : shapes)
      for (const int reach : {9, 20, 60}) {  // few, more, nearly all
        const std::vector<float> a = wide_range(shape.m, shape.k, reach, 1);
        const std::vector<float> b = wide_range(shape.k, shape.n, reach, 2);
        const auto rows = [&](std::int64_t m) {
          return multiplied(context.value(), contiguous(f32_types, m, shape.n, shape.k, 1), kernel, a, b);
        };
        const std::optional<Counted> all = rows(shape.m);
        const std::optional<Counted> few = rows(few_rows);
        if (!all || !few) continue;  // the kernel cannot run here
        has_run = true;
        const std::string what = kernel + " " + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" +
                                 std::to_string(shape.k) + " 2^" + std::to_string(reach);
        EXPECT_EQ(wrong_ones(shape, 1 + shape.m * shape.n * shape.k / (1 << 23), all->c, a, b), 0) << what;
        EXPECT_EQ(std::memcmp(all->c.data(), few->c.data(), few->c.size() * 4), 0) << what;
        fixed_up += all->paths[1] + all->paths[2];
      }
    EXPECT_EQ(fixed_up > 0, has_run) << kernel << ": nothing needed fix-up";
  }
}

/// Slices that have no scales: which tiles are summed in f32 follows from the least element, and from sums where that
/// is small.
TEST(WideRangeOnDevice, SlicesWithoutScalesHoldWhatIsNotTooSmall) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  constexpr Shape shape{70, 132, 200};
  struct Case {
    int reach_of_a, power_of_b;
    bool is_plain;
  };
  for (const auto& [reach_of_a, power_of_b, is_plain] :
       {Case{9, 0, false}, Case{60, 0, false}, Case{0, -70, false}, Case{0, -88, true}, Case{112, 0, true}}) {
    const std::vector<float> a = wide_range(shape.m, shape.k, reach_of_a, 1);
    std::vector<float> b = wide_range(shape.k, shape.n, 1, 2);
    for (float& element : b) element = std::ldexp(element, power_of_b);
    const std::optional<Counted> c =
        multiplied(context.value(), contiguous(f32_types, shape.m, shape.n, shape.k, 1), "sm80_f32_bf16x6_mma", a, b);
    if (!c) GTEST_SKIP() << "needs compute capability 8.0 or 9.0";
    const std::string what = "2^" + std::to_string(reach_of_a) + " times 2^" + std::to_string(power_of_b);
    EXPECT_EQ(wrong_ones(shape, 1, c->c, a, b), 0) << what;
    EXPECT_EQ(c->paths[1] > 0, is_plain) << what;  // narrow parts may have no small sum
  }
}

}  // namespace
}  // namespace exactile::test
