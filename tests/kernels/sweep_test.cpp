// SPDX-License-Identifier: Apache-2.0
// Random cases. EXACTILE_SWEEP_SEED chooses the first, EXACTILE_SWEEP_CASES how many; every failure prints the one line
// that runs its case again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdlib>
#include <random>

#include "support/check_case.hpp"

namespace exactile::test {
namespace {

using verification::Case;

/// One random case; everything comes from its seed.
class RandomCase {
 public:
  explicit RandomCase(std::uint64_t seed) : seed_(seed), generator_(seed) {}

  Case make(const std::vector<KernelOfType>& kernels) {
    const std::size_t which = pick(2 * kernels.size());
    const KernelOfType& kernel = kernels[which % kernels.size()];
    const GemmTypes types = kernel.types;
    Case test = contiguous_case(types, size(), size(), size());
    if (which < kernels.size()) test.options.kernel = kernel.kernel;
    test.options.accuracy = kernel.accuracy;
    test.options.threads = static_cast<int>(pick(5));
    test.seed = seed_;
    const auto fills = verification::fills_for(types.input);
    test.fill = fills[pick(fills.size())];
    layouts(test.description);
    epilogue(test.description);
    scales(test.description);
    if (kernel.accuracy == Accuracy::correctly_rounded) keep_to_what_is_rounded_once(test.description);
    test.alpha = scalar(types.input);
    test.beta = scalar(types.input);
    if (is_complex(types.input) && tested_options().backend == Backend::automatic) {  // few of a device's kernels do
      test.description.a.conjugate = pick(4) == 0;
      test.description.b.conjugate = pick(4) == 0;
    }
    return test;
  }

 private:
  std::size_t pick(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(generator_); }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
  }

  /// Mostly small, sometimes a few hundred, rarely empty.
  std::int64_t size() {
    switch (pick(8)) {
      case 0: return between(0, 3);
      case 1:
      case 2: return between(60, 300);
      default: return between(1, 64);
    }
  }

  OperandLayout layout(std::int64_t rows, std::int64_t columns, bool input) {
    const std::int64_t pad = pick(2) == 0 ? 0 : between(1, 9);
    const std::int64_t step = pick(6) == 0 ? 2 : 1;
    OperandLayout made =
        pick(2) == 0 ? OperandLayout{step * columns + pad, step} : OperandLayout{step, step * rows + pad};
    if (input && pick(8) == 0) made.row_stride = -made.row_stride;
    if (input && pick(8) == 0) made.column_stride = -made.column_stride;
    if (input && pick(20) == 0) made.row_stride = 0;
    if (input && pick(20) == 0) made.column_stride = 0;
    return made;
  }

  void layouts(GemmDescription& d) {
    d.a = layout(d.m, d.k, true);
    d.b = layout(d.k, d.n, true);
    d.c = layout(d.m, d.n, false);
    if (d.c.row_stride < 1) d.c.row_stride = 1;
    if (d.c.column_stride < 1) d.c.column_stride = 1;
    if (pick(4) != 0) return;
    d.batch_count = between(0, 9);
    batch(d.a, d.m, d.k, true);
    batch(d.b, d.k, d.n, true);
    batch(d.c, d.m, d.n, false);
  }

  void batch(OperandLayout& layout, std::int64_t rows, std::int64_t columns, bool input) {
    layout.pointer_array = pick(4) == 0;
    if (layout.pointer_array || (input && pick(4) == 0)) return;
    const std::int64_t span = std::abs(layout.row_stride) * std::max<std::int64_t>(rows - 1, 0) +
                              std::abs(layout.column_stride) * std::max<std::int64_t>(columns - 1, 0) + 1;
    layout.batch_stride = span + between(0, 5);
  }

  void epilogue(GemmDescription& d) {
    d.bias = std::array{Bias::none, Bias::none, Bias::per_row, Bias::per_column}[pick(4)];
    const std::size_t choice = pick(5);
    if (choice == 0 && !is_complex(d.types.output)) d.activation = Activation::relu;
    if (choice == 1 && !is_complex(d.types.output) && is_floating(d.types.output)) d.activation = Activation::gelu;
  }

  void scales(GemmDescription& d) {
    if (!is_floating(d.types.input) || is_complex(d.types.input)) return;
    d.row_scales = pick(4) == 0;
    d.column_scales = pick(4) == 0;
  }

  static void keep_to_what_is_rounded_once(GemmDescription& d) {
    d.row_scales = d.column_scales = false;
    if (d.activation == Activation::gelu) d.activation = Activation::none;
  }

  Scalar scalar(ElementType type) {
    const std::size_t choice = pick(8);
    if (choice < 3) return 1;
    if (choice == 3) return -1;
    if (choice < 6) return 0;
    if (!is_floating(type)) return between(-1000, 1000);
    const double value = std::uniform_real_distribution<double>(-3, 3)(generator_);
    if (is_complex(type)) return std::complex<double>(value, value / 2 - 1);
    return value;
  }

  std::uint64_t seed_;
  std::mt19937_64 generator_;
};

TEST(Sweep, RandomCases) {
  const std::uint64_t first = number_from_environment("EXACTILE_SWEEP_SEED", 20250101);
  const std::uint64_t cases = number_from_environment("EXACTILE_SWEEP_CASES", 3000);
  fmt::print("sweep: {} cases from seed {}\n", cases, first);
  const std::vector<KernelOfType> kernels = available_kernels();
  if (kernels.empty()) GTEST_SKIP() << "no device: no kernel of backend " << to_string(tested_options().backend);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + cases; ++seed) {
    tally += check_case(RandomCase(seed).make(kernels));
    ASSERT_LT(tally.failed, 20) << "stopped after 20 failures at seed " << seed;
  }
  EXPECT_GT(tally.passed, tally.unsupported);
}

}  // namespace
}  // namespace exactile::test
