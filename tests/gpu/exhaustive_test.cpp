// SPDX-License-Identifier: Apache-2.0
// All of (1..40)^3 for every CUDA kernel, the depths dealt out over its types, each of which has the first and every
// fifth or more; of each pinned configuration every fifth depth, and a third of (1..40)^2 with each; of kernels that
// want a longer K the depths from there on. The operands are small integers, so every sum is exact; A and B are
// uploaded once, the products of one k are enqueued one behind the other, each into a place of its own full of NaN, and
// come back with one copy.
#include <algorithm>
#include <cstring>

#include "core/arithmetic.hpp"
#include "core/type_dispatch.hpp"
#include "gpu/device_product.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t most = 40;
constexpr std::int64_t leading = most + 1;      ///< of C; what lies between the rows must stay as it is
constexpr std::int64_t place = most * leading;  ///< elements for one C
constexpr std::int64_t places = most * most;
/// Before the first of 40 depths: slices of f32 want K of 64, slices of K for two or four CTAs some blocks each.
constexpr std::int64_t depths_before[] = {0, 63, 192, 448};
constexpr std::int64_t deepest = 448 + most;

template <class In, class Out>
class Exhaustive {
 public:
  using Sum = Accumulator<In>;

  Exhaustive(const Context& context, const KernelOfType& kernel)
      : context_(context), kernel_(kernel), a_(upload(a_values())), b_(upload(b_values())) {
    if (tests_all()) return;
    constexpr std::int64_t most_apart = 5;
    const TurnOfType turn = turn_of_type(kernel);
    if (kernel.parameters.empty()) {
      depths_apart_ = std::min(turn.count, most_apart);
      depth_ = turn.index % depths_apart_;
    } else {
      depths_apart_ = most_apart;
      depth_ = 3;
      places_apart_ = 3;
    }
  }

  /// Products done; stops at the first k with a wrong one.
  int run() {
    for (const std::int64_t before : depths_before)
      if (takes_any(before)) return run(before);
    return 0;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  /// With k from before + 1 on.
  int run(std::int64_t before) {
    const std::int64_t bytes = places * place * static_cast<std::int64_t>(sizeof(Out));
    Result<DeviceMemory> c = context_.allocate(bytes);
    std::vector<Out> computed(static_cast<std::size_t>(places * place));
    std::vector<Sum> sums(static_cast<std::size_t>(most * most));
    for (std::int64_t p = 0; p < before; ++p) add_term(sums, p);
    int done = 0;
    for (std::int64_t k = before + 1; k <= before + most && !testing::Test::HasFailure(); ++k) {
      add_term(sums, k - 1);
      if (k > before + 1 && k % depths_apart_ != depth_) continue;
      EXPECT_TRUE(c.ok() && c.value().fill_bytes(0xff).ok());
      std::vector<bool> ran(static_cast<std::size_t>(places));
      for (std::int64_t p = 0; p < places; ++p) {
        if ((p + k) % places_apart_ != 0) continue;
        const bool did =
            enqueue(p / most + 1, p % most + 1, k, c.value().at(p * place * static_cast<std::int64_t>(sizeof(Out))));
        ran[static_cast<std::size_t>(p)] = did;
        done += did ? 1 : 0;
      }
      EXPECT_TRUE(c.value().download(computed.data(), bytes).ok());
      for (std::int64_t p = 0; p < places; ++p)
        if (ran[static_cast<std::size_t>(p)]) compare(p / most + 1, p % most + 1, k, &computed[at(p * place)], sums);
    }
    return done;
  }

  /// -2 ... 2: every sum is exact in the type that sums; in bf16 or f16 it is rounded once, as what is expected is.
  static In small(std::int64_t i) { return static_cast<In>(static_cast<float>(i * i * 7 % 11 % 5 - 2)); }
  static std::vector<In> a_values() {
    std::vector<In> values(at(most * deepest));
    for (std::int64_t i = 0; i < most * deepest; ++i) values[at(i)] = small(i + 3);
    return values;
  }
  static std::vector<In> b_values() {
    std::vector<In> values(at(deepest * most));
    for (std::int64_t i = 0; i < deepest * most; ++i) values[at(i)] = small(5 * i + 1);
    return values;
  }

  DeviceMemory upload(const std::vector<In>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(In));
    Result<DeviceMemory> memory = context_.allocate(bytes);
    EXPECT_TRUE(memory.ok() && memory.value().upload(values.data(), bytes).ok());
    return std::move(memory).value();
  }

  /// Term p of every element of C.
  void add_term(std::vector<Sum>& sums, std::int64_t p) {
    static const std::vector<In> a = a_values();
    static const std::vector<In> b = b_values();
    for (std::int64_t i = 0; i < most; ++i)
      for (std::int64_t j = 0; j < most; ++j)
        sums[at(i * most + j)] = core::multiply_add(static_cast<Sum>(a[at(i * deepest + p)]),
                                                    static_cast<Sum>(b[at(p * most + j)]), sums[at(i * most + j)]);
  }

  [[nodiscard]] Result<Plan> plan_for(std::int64_t m, std::int64_t n, std::int64_t k) const {
    const GemmDescription d{
        .types = kernel_.types, .m = m, .n = n, .k = k, .a = {deepest, 1}, .b = {most, 1}, .c = {leading, 1}};
    return Plan::make(d, {.backend = Backend::cuda,
                          .kernel = kernel_.kernel,
                          .accuracy = kernel_.accuracy,
                          .memory = Memory::device,
                          .parameters = kernel_.parameters});
  }

  /// Whether it takes the shallowest or the deepest with many rows and columns, few rows or few columns.
  [[nodiscard]] bool takes_any(std::int64_t before) const {
    for (const std::int64_t k : {before + 1, before + most})
      if (plan_for(most, most, k).ok() || plan_for(1, most, k).ok() || plan_for(most, 1, k).ok()) return true;
    return false;
  }

  /// Whether the kernel took the product.
  bool enqueue(std::int64_t m, std::int64_t n, std::int64_t k, void* c) {
    const Result<Plan> plan = plan_for(m, n, k);
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << plan.status().message();
      return false;
    }
    const Status status = plan.value().run({.a = a_.at(), .b = b_.at(), .c = c}, context_.execution());
    EXPECT_TRUE(status.ok()) << status.message();
    return true;
  }

  void compare(std::int64_t m, std::int64_t n, std::int64_t k, const Out* c, const std::vector<Sum>& sums) const {
    Out untouched;
    std::memset(static_cast<void*>(&untouched), 0xff, sizeof untouched);
    for (std::int64_t i = 0; i < most; ++i)
      for (std::int64_t j = 0; j < leading; ++j) {
        const bool inside = i < m && j < n;
        // Zeros are compared as numbers: a sum of opposite terms may be either zero.
        const Out expected = inside ? static_cast<Out>(sums[at(i * most + j)]) : untouched;
        const Out found = c[i * leading + j];
        const bool same = inside ? equal(found, expected) : std::memcmp(&found, &expected, sizeof found) == 0;
        if (same) continue;
        ADD_FAILURE() << test_name(kernel_) << ": m = " << m << ", n = " << n << ", k = " << k << ": element (" << i
                      << ", " << j << (inside ? ") is wrong" : ") is outside C and was written");
        return;
      }
  }

  static bool equal(Out x, Out y) {
    if constexpr (sizeof(Out) <= 2) {
      return static_cast<float>(x) == static_cast<float>(y);
    } else {
      return x == y;
    }
  }

  const Context& context_;
  const KernelOfType& kernel_;
  std::int64_t depths_apart_ = 1, depth_ = 0, places_apart_ = 1;
  DeviceMemory a_, b_;
};

/// Slices of K of a fixed length have nothing to do where there is one.
bool wants_long_k(const KernelOfType& kernel) { return kernel.parameters.find("SLICE_K") != std::string::npos; }

/// One test a kernel and type, so that shards and filters can have a part of them.
class Exhaustively : public testing::TestWithParam<KernelOfType> {};

TEST_P(Exhaustively, SmallSizes) {
  const KernelOfType kernel = GetParam();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const int done = core::with_gemm_types(
      kernel.types, [&]<class In, class Out>() { return Exhaustive<In, Out>(context.value(), kernel).run(); });
  EXPECT_TRUE(done > 0 || wants_long_k(kernel)) << test_name(kernel) << " refuses every small product";
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Exhaustively);  // without a GPU there is no kernel to instantiate it with
INSTANTIATE_TEST_SUITE_P(EveryKernel, Exhaustively, testing::ValuesIn(cuda_kernels()),
                         [](const testing::TestParamInfo<KernelOfType>& kernel) { return test_name(kernel.param); });

}  // namespace
}  // namespace exactile::test
