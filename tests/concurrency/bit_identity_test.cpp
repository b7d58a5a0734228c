// SPDX-License-Identifier: Apache-2.0
// The bits of an element depend neither on the number of threads nor on which rows and products share a call.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "support/check_case.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

constexpr GemmTypes f32{ElementType::f32, ElementType::f32};
constexpr GemmTypes f64{ElementType::f64, ElementType::f64};
constexpr GemmTypes bf16_f32{ElementType::bf16, ElementType::f32};

bool is_tuned(GemmTypes types) { return types == f32 || types == f64 || types == bf16_f32; }

/// C of the product on so many threads; empty where the kernel refuses.
std::vector<std::byte> product(const GemmDescription& d, Matrices& matrices, const KernelOfType& kernel, int threads) {
  matrices.clear_c();
  const Status status = gemm(d, matrices.arguments(), {.kernel = kernel.kernel, .threads = threads});
  if (status.code() == StatusCode::unsupported && !kernel.kernel.empty()) return {};
  EXPECT_TRUE(status.ok()) << status.message();
  return matrices.c();
}

void expect_same_on_all_thread_counts(const GemmDescription& d, Matrices& matrices, const KernelOfType& kernel) {
  const std::vector<std::byte> one = product(d, matrices, kernel, 1);
  if (one.empty()) return;
  const verification::ErrorReport report =
      verification::compare(d, matrices.arguments(), nullptr, Accuracy::standard, 3e6);
  EXPECT_TRUE(report.passed) << test_name(kernel) << ": " << report.failure;
  for (const int threads : {2, 3, 4, 7, 16})
    EXPECT_EQ(product(d, matrices, kernel, threads) == one, true)
        << test_name(kernel) << " " << d.m << " x " << d.n << " x " << d.k << " times " << d.batch_count << " on "
        << threads << " threads";
}

/// Of four, those that would share the product; none where the kernel refuses it, or nothing is multiplied.
int threads_of(const GemmDescription& d, const KernelOfType& kernel) {
  if (d.m == 0) return 0;
  const Result<Plan> plan = Plan::make(d, {.kernel = kernel.kernel, .threads = 4});
  return plan.ok() ? plan.value().summary().threads : 0;
}

/// Most have 2^23 terms and more, so that several threads are worth waking.
std::vector<GemmDescription> shapes_for_threads(GemmTypes types) {
  std::vector<GemmDescription> shapes{contiguous(types, 257, 251, 263)};
  if (!is_tuned(types)) return shapes;
  for (const auto& [m, n, k] : {std::tuple{35, 1100, 1100},
                                {1000, 40, 450},
                                {7, 3000, 900},
                                {3000, 7, 900},
                                {64, 64, 16400},
                                {1, 3000, 4100},
                                {4100, 1, 3000},
                                {2, 2, 2100000},
                                {3001, 2999, 2},
                                {500, 500, 500},
                                {13, 14, 100001}})
    shapes.push_back(contiguous(types, m, n, k));
  shapes.push_back(contiguous(types, 209, 210, 211, 4));
  shapes.push_back(contiguous(types, 9, 9, 9, 5000));
  shapes.push_back(contiguous(types, 33, 17, 30, 1000));  // whole products to each of four threads
  shapes.push_back(contiguous(types, 0, 9, 9));
  return shapes;
}

TEST(BitIdentity, AnyNumberOfThreads) {
  for (const GemmTypes types : all_gemm_types()) {
    std::vector<KernelOfType> kernels{{"", types}};
    for (const KernelOfType& kernel : available_kernels())
      if (kernel.types == types && kernel.kernel != "cpu_naive") kernels.push_back(kernel);  // naive: one thread
    std::map<std::string, int> most_threads;
    for (const GemmDescription& d : shapes_for_threads(types)) {
      Matrices matrices(d, 11, verification::Fill::uniform);
      for (const KernelOfType& kernel : kernels) {
        expect_same_on_all_thread_counts(d, matrices, kernel);
        most_threads[kernel.kernel] = std::max(most_threads[kernel.kernel], threads_of(d, kernel));
      }
    }
    for (const auto& [kernel, threads] : most_threads)
      EXPECT_TRUE(threads != 1 || !is_tuned(types)) << "no product is shared by threads of " << kernel;
  }
}

/// C is so large that its lines are asked for before they are written; A by rows and by columns.
TEST(BitIdentity, OfFewTermsAndALargeC) {
  for (const GemmTypes types : {f32, f64})
    for (const bool by_columns : {false, true}) {
      GemmDescription d = contiguous(types, 1003, 1037, 61);
      if (by_columns) d.a = {1, 1003};
      Matrices matrices(d, 20, verification::Fill::uniform);
      expect_same_on_all_thread_counts(d, matrices, {"", types});
    }
}

/// A is so large that the packed loops copy it; its first rows alone are read where they lie.
TEST(BitIdentity, OfAnAThatIsCopied) {
  for (const GemmTypes types : {f32, f64}) {
    const std::int64_t m = types == f32 ? 1030 : 730;
    const GemmDescription d = contiguous(types, m, 1025, m + 10);
    Matrices matrices(d, 18);
    const KernelOfType planner{"", types};
    expect_same_on_all_thread_counts(d, matrices, planner);
    const std::vector<std::byte> all = product(d, matrices, planner, 2);
    GemmDescription few = d;
    few.m = 40;
    const std::vector<std::byte> some = product(few, matrices, planner, 1);
    const std::size_t bytes = 40 * 1025 * (types == f32 ? sizeof(float) : sizeof(double));
    EXPECT_TRUE(std::equal(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(bytes), all.begin()));
  }
}

/// On eight threads and more the packed loops pack the next block of A between the row tiles of this one where blocks
/// are as wide as here: in steps of one chunk of terms and of several, the last ones shorter.
TEST(BitIdentity, OfAnAThatIsPackedAhead) {
  for (const GemmTypes types : {f32, f64})
    for (const std::int64_t m : {29, 203}) {
      GemmDescription d = types == f32 ? contiguous(types, m, 3500, 1603, 2) : contiguous(types, m, 1800, 803, 2);
      Matrices matrices(d, 19);
      d.k -= 3;  // the strides stay
      const auto product_with = [&](const char* parameters, int threads) {
        GemmArguments arguments = matrices.arguments();
        arguments.alpha = -0.5;
        matrices.clear_c();
        Status status = gemm(d, arguments, {.threads = threads, .parameters = parameters});
        arguments.beta = 0.75;
        if (status.ok()) status = gemm(d, arguments, {.threads = threads, .parameters = parameters});
        if (status.code() == StatusCode::unsupported && *parameters != 0) return std::vector<std::byte>{};
        EXPECT_TRUE(status.ok()) << status.message();
        return matrices.c();
      };
      const std::vector<std::byte> one = product_with("", 1);
      for (const char* parameters : {"", "KC=700 MC=90"})
        for (const int threads : {2, 5, 8, 9, 16})
          if (const std::vector<std::byte> c = product_with(parameters, threads); !c.empty()) {
            EXPECT_TRUE(c == one) << to_string(types) << ", m = " << m << ", " << parameters << ", " << threads
                                  << " threads";
          }
    }
}

/// Sets the floating-point environment of this thread for its lifetime.
class FloatingPointEnvironment {
 public:
  FloatingPointEnvironment() { std::fegetenv(&before_); }
  FloatingPointEnvironment(const FloatingPointEnvironment&) = delete;
  FloatingPointEnvironment& operator=(const FloatingPointEnvironment&) = delete;
  ~FloatingPointEnvironment() { std::fesetenv(&before_); }

  static void round_upward() { std::fesetround(FE_UPWARD); }
#if defined(__x86_64__) && defined(__GLIBC__)
  static void flush_subnormals() {
    std::fenv_t environment;
    std::fegetenv(&environment);
    environment.__mxcsr |= 0x8040;  // flush to zero, denormals are zero
    std::fesetenv(&environment);
  }
#endif

 private:
  std::fenv_t before_;
};

TEST(BitIdentity, WorkersRoundAsTheirCaller) {
  const GemmDescription d = contiguous(f32, 500, 400, 300);
  Matrices matrices(d, 16);
  const KernelOfType planner{"", f32};
  const std::vector<std::byte> nearest = product(d, matrices, planner, 4);  // wakes the workers
  std::vector<std::byte> upward;
  {
    const FloatingPointEnvironment restored;
    FloatingPointEnvironment::round_upward();
    upward = product(d, matrices, planner, 1);
    EXPECT_TRUE(product(d, matrices, planner, 4) == upward);
  }
  EXPECT_FALSE(upward == nearest);
  EXPECT_TRUE(product(d, matrices, planner, 4) == nearest);
}

/// The pairs of bf16 are summed by an instruction that rounds to nearest whatever the mode.
TEST(BitIdentity, PairsRoundAsTheirCaller) {
  const GemmDescription d = contiguous(bf16_f32, 150, 130, 1100);
  Matrices matrices(d, 18);
  std::vector<std::byte> kept;
  for (const char* name : {"avx512_bf16_pairs_12x32", "avx512_bf16_widened_12x32"}) {
    const KernelOfType kernel{name, bf16_f32};
    const std::vector<std::byte> nearest = product(d, matrices, kernel, 1);
    if (nearest.empty()) continue;  // not on this processor
    const FloatingPointEnvironment restored;
    FloatingPointEnvironment::round_upward();
    const std::vector<std::byte> upward = product(d, matrices, kernel, 1);
    EXPECT_FALSE(upward == nearest) << name;
    EXPECT_TRUE(kept.empty() || upward == kept);
    kept = upward;
  }
}

/// Tile registers flush subnormal numbers: a product that has one is summed otherwise, and its other rows alike.
TEST(BitIdentity, TilesOfBf16SumAlikeWhateverWouldBeFlushed) {
  const GemmDescription d = contiguous(bf16_f32, 70, 90, 1100);
  std::vector<std::byte> kept;
  for (const char* name : {"amx_bf16_32x32", "amx_bf16_near", "amx_bf16_deep"}) {
    Matrices matrices(d, 19);
    const KernelOfType kernel{name, bf16_f32};
    if (product(d, matrices, kernel, 1).empty()) continue;  // not on this processor, or not of so many terms
    const std::vector<std::byte> whole = matrices.c_rows(0, d.m - 1);
    EXPECT_TRUE(kept.empty() || whole == kept) << name;
    kept = whole;
    constexpr BFloat16 subnormal = [] {
      BFloat16 x;
      x.bits = 1;
      return x;
    }();
    auto* const a = static_cast<BFloat16*>(const_cast<void*>(matrices.arguments().a));
    a[d.m * d.k - 1] = subnormal;
    (void)product(d, matrices, kernel, 1);
    EXPECT_TRUE(matrices.c_rows(0, d.m - 1) == whole) << name;
  }
}

/// Tile registers read rows of A where they lie if these are whole lanes, and else a copy of them.
void expect_same_wherever_rows_lie(const KernelOfType& kernel, verification::Fill fill) {
  const GemmDescription d = contiguous(kernel.types, 70, 600, 1100);
  GemmDescription apart = d;
  apart.a.row_stride = d.k + 1;
  Matrices matrices(d, 29, fill);
  const std::int64_t size = size_in_bytes(kernel.types.input);
  std::vector<std::byte> rows(static_cast<std::size_t>(d.m * apart.a.row_stride * size));
  for (std::int64_t i = 0; i < d.m; ++i)
    std::copy_n(static_cast<const std::byte*>(matrices.arguments().a) + i * d.k * size, d.k * size,
                rows.begin() + i * apart.a.row_stride * size);
  for (const int threads : {1, 3, 16}) {
    const std::vector<std::byte> in_place = product(d, matrices, kernel, threads);
    if (in_place.empty()) continue;
    GemmArguments arguments = matrices.arguments();
    arguments.a = rows.data();
    ASSERT_TRUE(gemm(apart, arguments, {.kernel = kernel.kernel, .threads = threads}).ok());
    EXPECT_TRUE(matrices.c() == in_place) << test_name(kernel) << " on " << threads << " threads";
  }
}

TEST(BitIdentity, OfRowsInPlaceAndCopiedOnes) {
  using verification::Fill;
  int compared = 0;
  for (const KernelOfType& kernel : available_kernels())
    if (kernel.kernel.starts_with("amx"))
      for (const Fill fill : {Fill::normal, Fill::wide_range})
        if (is_floating(kernel.types.input) || fill == Fill::normal) {
          expect_same_wherever_rows_lie(kernel, fill);
          ++compared;
        }
  if (compared == 0) GTEST_SKIP() << "no AMX";
}

#if defined(__x86_64__) && defined(__GLIBC__)
TEST(BitIdentity, WorkersFlushSubnormalsAsTheirCaller) {
  const GemmDescription d = contiguous(f32, 500, 400, 300);
  Matrices matrices(d, 17);
  const auto subnormal_elements = [&](int threads) {
    GemmArguments arguments = matrices.arguments();
    arguments.alpha = 1.3e-38;  // a normal number; times a sum below 0.9 it is none
    EXPECT_TRUE(gemm(d, arguments, {.threads = threads}).ok());
    std::vector<std::uint32_t> c(static_cast<std::size_t>(d.m * d.n));
    std::memcpy(c.data(), matrices.c().data(), matrices.c().size());
    // By their bits: to arithmetic that flushes them they are zeros.
    return std::ranges::count_if(c, [](std::uint32_t x) { return (x & 0x7f800000U) == 0 && (x & 0x7fffffU) != 0; });
  };
  EXPECT_GT(subnormal_elements(4), 0);
  {
    const FloatingPointEnvironment restored;
    FloatingPointEnvironment::flush_subnormals();
    const auto on_one = subnormal_elements(1);
    const auto on_four = subnormal_elements(4);
    EXPECT_EQ(on_one, 0);
    EXPECT_EQ(on_four, 0);
  }
  EXPECT_GT(subnormal_elements(4), 0);
}
#endif

/// A machine may grant fewer threads than asked for; more must be no trouble.
TEST(BitIdentity, VeryManyThreads) {
  const GemmDescription d = contiguous(f32, 500, 500, 500);
  Matrices matrices(d, 12);
  const KernelOfType planner{"", f32};
  const std::vector<std::byte> one = product(d, matrices, planner, 1);
  for (const int threads : {64, 1000, 1 << 30}) EXPECT_TRUE(product(d, matrices, planner, threads) == one) << threads;
}

/// Row i of A[0:m] * B for every m up to the full height: the same bits whatever the company, so also across the
/// kernels between which the planner changes as m grows. Up to eight columns, and up to eight rows of types other than
/// f32 and f64, it may take an order of their own, and bf16 from sixteen rows on that of tile registers, where the
/// processor has them (ADR 0006);
/// reproducible_test.cpp has these sizes with `reproducible`.
void expect_rows_independent_of_company(const KernelOfType& kernel, std::int64_t most_rows, std::int64_t n,
                                        std::int64_t k) {
  constexpr std::int64_t few = 8;
  if (kernel.kernel.empty() && n <= few) return;
  const GemmDescription full = contiguous(kernel.types, most_rows, n, k);
  Matrices matrices(full, 13);
  if (product(full, matrices, kernel, 1).empty()) return;
  const Matrices reference = matrices;
  constexpr std::int64_t side_of_tile = 16;
  const bool has_order_of_few = kernel.kernel.empty() && kernel.types != f32 && kernel.types != f64;
  const bool has_tiles = std::ranges::any_of(
      available_kernels(), [](const KernelOfType& each) { return each.kernel.starts_with("amx_bf16"); });
  const std::int64_t least_rows = kernel.types.input == ElementType::bf16 && has_tiles ? side_of_tile : few + 1;
  for (std::int64_t m = has_order_of_few ? least_rows : 1; m <= most_rows; ++m) {
    GemmDescription d = full;
    d.m = m;
    matrices.clear_c();
    const Status status = gemm(d, matrices.arguments(), {.kernel = kernel.kernel});
    if (status.code() == StatusCode::unsupported) continue;
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(matrices.c_rows(0, m) == reference.c_rows(0, m), true)
        << test_name(kernel) << ": " << n << " columns, k = " << k << ": the first " << m << " rows of " << most_rows;
  }
}

TEST(BitIdentity, RowsDoNotDependOnTheirCompany) {
  std::vector<KernelOfType> kernels = planner_for_all_types();
  for (const KernelOfType& kernel : available_kernels()) kernels.push_back(kernel);
  for (const KernelOfType& kernel : kernels) {
    expect_rows_independent_of_company(kernel, 40, 37, 300);
    if (!is_tuned(kernel.types) || kernel.kernel == "cpu_naive") continue;
    expect_rows_independent_of_company(kernel, 37, 130, 700);
    expect_rows_independent_of_company(kernel, 26, 1, 1500);
    expect_rows_independent_of_company(kernel, 26, 515, 1025);
    expect_rows_independent_of_company(kernel, 20, 9, 30);
    expect_rows_independent_of_company(kernel, 19, 14, 9000);
  }
}

TEST(BitIdentity, BigAndSmallHeights) {
  for (const GemmTypes types : {f32, f64}) {
    const GemmDescription full = contiguous(types, 700, 300, 400);
    Matrices matrices(full, 14);
    ASSERT_FALSE(product(full, matrices, {"", types}, 0).empty());
    const Matrices reference = matrices;
    for (const std::int64_t m : {1, 2, 7, 12, 13, 60, 200, 699}) {
      GemmDescription d = full;
      d.m = m;
      matrices.clear_c();
      ASSERT_TRUE(gemm(d, matrices.arguments()).ok());
      EXPECT_TRUE(matrices.c_rows(0, m) == reference.c_rows(0, m)) << to_string(types) << ", m = " << m;
    }
  }
}

/// Product p alone against product p within a batch.
TEST(BitIdentity, ProductsDoNotDependOnTheirBatch) {
  std::vector<KernelOfType> kernels = planner_for_all_types();
  for (const KernelOfType& kernel : available_kernels()) kernels.push_back(kernel);
  for (const KernelOfType& kernel : kernels) {
    for (const auto& [m, n, k] : {std::tuple{9, 9, 9}, {30, 17, 290}, {1, 60, 600}, {100, 90, 80}}) {
      const std::int64_t count = m == 100 ? 3 : 20;
      const GemmDescription batch = contiguous(kernel.types, m, n, k, count);
      Matrices matrices(batch, 15);
      const std::vector<std::byte> all = product(batch, matrices, kernel, 0);
      if (all.empty()) continue;
      const GemmDescription single = contiguous(kernel.types, m, n, k);
      const std::int64_t in = size_in_bytes(kernel.types.input);
      const auto bytes = static_cast<std::size_t>(m * n * size_in_bytes(kernel.types.output));
      std::vector<std::byte> c(bytes);
      for (std::int64_t p = 0; p < count; ++p) {
        const GemmArguments whole = matrices.arguments();
        const Status status = gemm(single,
                                   {.a = static_cast<const std::byte*>(whole.a) + p * m * k * in,
                                    .b = static_cast<const std::byte*>(whole.b) + p * k * n * in,
                                    .c = c.data()},
                                   {.kernel = kernel.kernel});
        if (status.code() == StatusCode::unsupported) break;
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_TRUE(std::equal(c.begin(), c.end(), all.begin() + p * static_cast<std::ptrdiff_t>(bytes)))
            << test_name(kernel) << ": product " << p << " of " << m << " x " << n << " x " << k;
      }
    }
  }
}

/// Each product of the batch by itself has the bytes it had in `all`.
void expect_products_alone(const GemmDescription& batch, Matrices& matrices, const std::vector<std::byte>& all) {
  GemmDescription single = batch;
  single.batch_count = 1;
  const std::int64_t in = size_in_bytes(batch.types.input);
  const GemmArguments whole = matrices.arguments();
  std::vector<std::byte> c(static_cast<std::size_t>(batch.m * batch.n * size_in_bytes(batch.types.output)));
  for (std::int64_t p = 0; p < batch.batch_count; ++p)
    for (const int threads : {1, 4}) {
      const Status status = gemm(single,
                                 {.a = static_cast<const std::byte*>(whole.a) + p * batch.a.batch_stride * in,
                                  .b = static_cast<const std::byte*>(whole.b) + p * batch.b.batch_stride * in,
                                  .c = c.data()},
                                 {.threads = threads});
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(std::ranges::equal(c, std::span(all).subspan(static_cast<std::size_t>(p) * c.size(), c.size())))
          << "product " << p << " of " << batch.m << " x " << batch.n << " x " << batch.k << ", threads " << threads;
    }
}

/// Kernels of any other type are one definition of its sums, whatever their instructions and loops; wide ranges have
/// products that bf16's own instruction would flush. Tile registers have another definition for bf16, and share it.
TEST(BitIdentity, KernelsOfOtherTypesAgree) {
  using verification::Fill;
  const auto is_another = [](const KernelOfType& kernel) {
    return kernel.kernel == "cpu_naive" || kernel.kernel == "portable_blocked";
  };
  using E = ElementType;
  for (const GemmTypes types :
       {bf16_f32, GemmTypes{E::bf16, E::bf16}, GemmTypes{E::f16, E::f32}, GemmTypes{E::f8e4m3, E::f32},
        GemmTypes{E::f8e5m2, E::bf16}, GemmTypes{E::i8, E::i32}, GemmTypes{E::i32, E::i32}, GemmTypes{E::i64, E::i64},
        GemmTypes{E::cf32, E::cf32}, GemmTypes{E::cf64, E::cf64}})
    for (const auto& [m, n, k] : {std::tuple{9, 9, 9}, {64, 64, 64}, {37, 50, 1101}, {130, 200, 2100}})
      for (const Fill fill : {Fill::normal, Fill::wide_range, Fill::cancelling}) {
        if (!is_floating(types.input) && fill != Fill::normal) continue;
        const GemmDescription d = contiguous(types, m, n, k);
        Matrices matrices(d, 23, fill);
        std::vector<std::byte> firsts[2];
        for (const KernelOfType& kernel : available_kernels()) {
          if (kernel.types != types || is_another(kernel)) continue;
          const std::vector<std::byte> c = product(d, matrices, kernel, 1);
          if (c.empty()) continue;
          const bool is_of_tiles = types.input == E::bf16 && kernel.kernel.starts_with("amx");
          std::vector<std::byte>& first = firsts[is_of_tiles ? 1 : 0];
          if (first.empty()) first = c;
          EXPECT_TRUE(c == first) << test_name(kernel) << " " << m << " x " << n << " x " << k << " "
                                  << verification::to_string(fill);
        }
      }
}

/// What a user calls: no kernel named, the planner free to change kernels with threads and batch.
TEST(BitIdentity, PlannersChoiceWithATransposedB) {
  for (const GemmTypes types : {f32, f64})
    for (const auto& [m, n, k] :
         {std::tuple{300, 200, 700}, {33, 35, 9000}, {5, 2000, 1100}, {2000, 3, 1100}, {1, 1, 70000}, {64, 64, 64}}) {
      GemmDescription d = contiguous(types, m, n, k, 5);
      for (const bool a_turned : {false, true}) {
        d.a.row_stride = a_turned ? 1 : k;
        d.a.column_stride = a_turned ? m : 1;
        d.b.row_stride = 1;
        d.b.column_stride = k;
        Matrices matrices(d, 18);
        const std::vector<std::byte> batch = product(d, matrices, {"", types}, 1);
        for (const int threads : {2, 3, 5, 8})
          EXPECT_TRUE(product(d, matrices, {"", types}, threads) == batch)
              << to_string(types) << " " << m << " x " << n << " x " << k << " on " << threads << " threads";
        expect_products_alone(d, matrices, batch);
      }
    }
}

}  // namespace
}  // namespace exactile::test
