// SPDX-License-Identifier: Apache-2.0
// All of (1..40)^3 for every CUDA kernel and type. The operands are small integers, so every sum is exact; A and B are
// uploaded once, the 1600 products of one k are enqueued one behind the other, each into a place of its own full of
// NaN, and come back with one copy.
#include <fmt/format.h>

#include <cstring>

#include "core/arithmetic.hpp"
#include "core/type_dispatch.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t most = 40;
constexpr std::int64_t leading = most + 1;      ///< of C; what lies between the rows must stay as it is
constexpr std::int64_t place = most * leading;  ///< elements for one C
constexpr std::int64_t places = most * most;

template <class In, class Out>
class Exhaustive {
 public:
  using Sum = Accumulator<In>;

  Exhaustive(const Context& context, const KernelOfType& kernel)
      : context_(context), kernel_(kernel), a_(upload(a_values())), b_(upload(b_values())) {}

  /// Products done; stops at the first k with a wrong one.
  int run() {
    const std::int64_t bytes = places * place * static_cast<std::int64_t>(sizeof(Out));
    Result<DeviceMemory> c = context_.allocate(bytes);
    std::vector<Out> computed(static_cast<std::size_t>(places * place));
    std::vector<Sum> sums(static_cast<std::size_t>(most * most));
    int done = 0;
    for (std::int64_t k = 1; k <= most && !testing::Test::HasFailure(); ++k) {
      add_term(sums, k - 1);
      EXPECT_TRUE(c.ok() && c.value().fill_bytes(0xff).ok());
      std::vector<bool> ran(static_cast<std::size_t>(places));
      for (std::int64_t p = 0; p < places; ++p) {
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

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  /// -2 ... 2: no sum of 40 products is beyond what even bf16 holds exactly.
  static In small(std::int64_t i) { return static_cast<In>(static_cast<float>(i * i * 7 % 11 % 5 - 2)); }
  static std::vector<In> a_values() {
    std::vector<In> values(at(most * most));
    for (std::int64_t i = 0; i < most * most; ++i) values[at(i)] = small(i + 3);
    return values;
  }
  static std::vector<In> b_values() {
    std::vector<In> values(at(most * most));
    for (std::int64_t i = 0; i < most * most; ++i) values[at(i)] = small(5 * i + 1);
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
        sums[at(i * most + j)] = core::multiply_add(static_cast<Sum>(a[at(i * most + p)]),
                                                    static_cast<Sum>(b[at(p * most + j)]), sums[at(i * most + j)]);
  }

  /// Whether the kernel took the product.
  bool enqueue(std::int64_t m, std::int64_t n, std::int64_t k, void* c) {
    const GemmDescription d{
        .types = kernel_.types, .m = m, .n = n, .k = k, .a = {most, 1}, .b = {most, 1}, .c = {leading, 1}};
    const Result<Plan> plan = Plan::make(
        d, {.backend = "cuda", .kernel = kernel_.kernel, .accuracy = kernel_.accuracy, .memory = Memory::device});
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
  DeviceMemory a_, b_;
};

TEST(Exhaustive, SmallSizesOfEveryKernel) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make("cuda");
  ASSERT_TRUE(context.ok()) << context.status().message();
  int tested = 0;
  for (const KernelOfType& kernel : cuda_kernels()) {
    const int done = core::with_gemm_types(
        kernel.types, [&]<class In, class Out>() { return Exhaustive<In, Out>(context.value(), kernel).run(); });
    if (testing::Test::HasFailure()) return;
    tested += done > 0 ? 1 : 0;
    // Some are for large products only, and say so.
    if (done == 0) fmt::print("{} refuses every small product\n", test_name(kernel));
  }
  EXPECT_GT(tested, 0);
}

}  // namespace
}  // namespace exactile::test
