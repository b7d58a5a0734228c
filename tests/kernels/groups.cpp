// SPDX-License-Identifier: Apache-2.0
#include "kernels/groups.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <tuple>

namespace exactile::test {
namespace {

using verification::Case;
using verification::Fill;

struct Shape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

/// Cases of one kernel and type, with seeds and fills that take turns so that neighbours differ.
class Runner {
 public:
  explicit Runner(const KernelOfType& kernel)
      : kernel_(kernel),
        fills_(verification::fills_for(kernel.types.input)),
        more_terms_(terms_before(kernel)),
        sample_(number_from_environment("EXACTILE_TEST_SAMPLE", 1)),
        one_of_(sample_ * cases_for_each_run(kernel)),
        dice_(std::hash<std::string>()(test_name(kernel))) {}

  /// The shape as this kernel is given it: those for a long K alone have that much more of it, where they need it.
  [[nodiscard]] Shape fit(Shape shape) const {
    if (more_terms_ > 0 && shape.k > 0 && !takes(kernel_, 130, 132, shape.k)) shape.k += more_terms_;
    return shape;
  }

  [[nodiscard]] bool is_for_long_k() const { return more_terms_ >= 512; }

  [[nodiscard]] Case make(const Shape& shape) {
    Case test = contiguous_case(kernel_.types, shape.m, shape.n, shape.k);
    test.options.kernel = kernel_.kernel;
    test.options.accuracy = kernel_.accuracy;
    test.options.parameters = kernel_.parameters;
    test.options.threads = static_cast<int>(turn_ % 3);  // 0: the default
    test.seed = ++turn_;
    test.fill = fills_[turn_ % fills_.size()];
    return test;
  }
  void run(const Case& test) { run_one_of(one_of_, test); }
  void run(const Shape& shape) { run(make(fit(shape))); }
  /// What the kernel's own tile is at stake in: never left to the lot that others of its code have part in.
  void run_edge(const Shape& shape) { run_one_of(sample_, make(fit(shape))); }
  [[nodiscard]] std::uint64_t turn() const { return turn_; }
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  /// A case in so many runs, drawn by lot, another draw for each kernel. Configurations share their kernel's code but
  /// for the tile.
  [[nodiscard]] static std::uint64_t cases_for_each_run(const KernelOfType& kernel) {
    constexpr std::uint64_t of_configuration = 3;
    return kernel.parameters.empty() || tests_all() ? 1 : of_configuration;
  }

  /// Of n such cases one runs; of the others it is asked whether the kernel takes them.
  void run_one_of(std::uint64_t n, const Case& test) {
    if (tally_.failed >= 5) return;  // more of them say nothing new
    if (n > 1 && dice_() % n != 0)
      (Plan::make(test.description, test.options).ok() ? tally_.left_out : tally_.unsupported) += 1;
    else
      tally_ += check_case(test);
  }

  /// Terms of K that the kernel cannot do without, if that is why it refuses; 0 if it is not.
  [[nodiscard]] static std::int64_t terms_before(const KernelOfType& kernel) {
    constexpr std::int64_t few = 7;
    for (const std::int64_t terms : {0, 64, 128, 256, 512, 1024, 2048, 4096})
      if (takes(kernel, 130, 132, few + terms)) return terms;
    return 0;
  }

  const KernelOfType& kernel_;
  std::vector<Fill> fills_;
  std::int64_t more_terms_;
  std::uint64_t sample_;  ///< EXACTILE_TEST_SAMPLE=n: one of n cases, and of whatever is sampled anyway
  std::uint64_t one_of_;
  std::mt19937_64 dice_;
  std::uint64_t turn_ = 0;
  Tally tally_;
};

/// Around the register tiles that kernels in the field use.
constexpr std::array<std::int64_t, 7> common_tiles{6, 8, 12, 14, 16, 32, 48};

/// One value, or a neighbour of a multiple of a tile.
std::vector<std::int64_t> around(std::int64_t tile) {
  if (tile <= 0) return {};
  return {tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1};
}

constexpr std::int64_t transposed_gap = 3;

/// Four ways to store rows x columns.
OperandLayout stored(int way, std::int64_t rows, std::int64_t columns) {
  switch (way) {
    case 0: return {columns, 1};
    case 1: return {columns + 5, 1};
    case 2: return {1, rows};
    default: return {1, rows + transposed_gap};
  }
}

/// What only A and B may do.
OperandLayout unusual(int way, std::int64_t rows, std::int64_t columns) {
  switch (way) {
    case 0: return {-columns, 1};
    case 1: return {columns, -1};
    case 2: return {-(columns + 2), -1};
    case 3: return {0, 1};
    case 4: return {1, 0};
    case 5: return {0, 0};
    case 6: return {2 * columns + 1, 2};
    case 7: return {3, 3 * rows + 7};
    default: return {1, 1};  // a Hankel matrix: elements shared along the diagonals
  }
}
constexpr int unusual_ways = 9;

constexpr std::array<Scalar, 5> some_scalars{Scalar(0), Scalar(1), Scalar(-1), Scalar(2.5), Scalar(-0.75)};
constexpr std::array<Scalar, 5> some_integers{Scalar(0), Scalar(1), Scalar(-1), Scalar(3), Scalar(-7)};

}  // namespace

Tally check_shapes(const KernelOfType& kernel) {
  Runner runner(kernel);
  for (const Shape& shape : {Shape{0, 5, 7}, Shape{5, 0, 7}, Shape{5, 7, 0}, Shape{0, 0, 0}, Shape{1, 1, 1}})
    runner.run(shape);
  for (const std::int64_t tile : common_tiles) {
    for (const std::int64_t size : {tile - 1, tile, tile + 1, 3 * tile + 1}) runner.run({size, size, size});
    runner.run({tile + 1, 2 * tile - 1, 37});
  }
  const Blocking own = blocking_of(kernel, 200, 200, runner.fit({200, 200, 200}).k);
  const std::vector<std::int64_t> rows = around(own.mr), columns = around(own.nr);
  // For a long K the oracles would take most of a minute for all pairs; each size is in two, whole tiles with whole
  // tiles.
  const std::size_t pairs_per_case = runner.is_for_long_k() ? 3 : 1;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < columns.size(); ++j)
      if ((i + j + 1) % pairs_per_case == 0) runner.run_edge({rows[i], columns[j], 19});
  for (const std::int64_t m : {own.mc - 1, own.mc, own.mc + 1})
    if (m > 0 && m < 4000) runner.run_edge({m, 21, 11});
  for (const std::int64_t n : {own.nc - 1, own.nc + 1})
    if (n > 0 && n < 9000) runner.run_edge({7, n, 5});
  for (const Shape& shape : {Shape{31, 37, 41}, Shape{67, 71, 73}, Shape{97, 101, 103}, Shape{127, 131, 61}})
    runner.run(shape);
  for (const Shape& shape : {Shape{3, 5, 20011}, Shape{17, 13, 4099}, Shape{64, 64, 1025}, Shape{1, 1, 5003}})
    runner.run(shape);
  // More tiles than a GPU has SMs: what one tile leaves behind may hurt the next. Kernels for a long K divide it among
  // so many that fewer rows do.
  runner.run({runner.is_for_long_k() ? 9001 : 40009, 33, 3});
  runner.run({runner.is_for_long_k() ? 517 : 1009, 1013, 3});
  for (const Shape& shape : {Shape{523, 7, 2}, Shape{2, 3001, 1}}) runner.run(shape);
  for (const Shape& shape : {Shape{1, 777, 333}, Shape{777, 1, 333}, Shape{1, 2049, 129}, Shape{8, 515, 259},
                             Shape{515, 8, 259}, Shape{333, 777, 1}, Shape{2, 2, 2048}, Shape{35, 131, 600}})
    runner.run(shape);
  // Large enough for several threads to be worth waking, of narrow types by their kernels, too; the plain loop never
  // has more than one, and a GPU asks for none.
  const bool is_quick = size_in_bytes(kernel.types.input) <= 2 && tested_options().backend == Backend::automatic;
  const Shape square = is_quick ? Shape{331, 347, 353} : Shape{203, 211, 223};
  for (const Shape& shape : {square, Shape{35, 601, 499}, Shape{3, 1801, 1600}}) {
    for (const int threads : {2, 7}) {
      if (kernel.kernel == "cpu_naive" || (threads == 7 && tested_options().backend == Backend::cuda)) continue;
      Case test = runner.make(runner.fit(shape));
      test.options.threads = threads;
      runner.run(test);
    }
  }
  return runner.tally();
}

Tally check_depths(const KernelOfType& kernel) {
  Runner runner(kernel);
  std::set<std::int64_t> depths{2, 3, 4, 127, 128, 129, 255, 256, 257, 383, 384, 385, 511, 512, 513, 1000, 2049};
  const Blocking own = blocking_of(kernel, 100, 100, runner.fit({100, 100, 4000}).k);
  for (const std::int64_t k : around(own.kc)) depths.insert(k);
  for (const std::int64_t k : std::set(depths)) depths.insert(runner.fit({1, 1, k}).k);
  for (const std::int64_t k : depths) {
    if (k <= 0) continue;
    runner.run(runner.make({13, 17, k}));
    runner.run(runner.make({49, 33, k}));
    // All K blocks but the first add to C, which must be scaled by beta once.
    Case test = runner.make({14, 50, k});
    test.fill = Fill::small_integers;
    test.beta = 2;
    runner.run(test);
  }
  // Of few rows or columns the parts of K meet in a block, in a cluster of blocks, or in memory.
  for (const Shape& s : {Shape{3, 37, 2049}, Shape{1, 40, 4096}, Shape{40, 2, 9001}, Shape{1, 40, 33000}}) {
    Case test = runner.make(runner.fit(s));
    test.beta = 2;
    runner.run(test);
  }
  return runner.tally();
}

Tally check_layouts(const KernelOfType& kernel) {
  Runner runner(kernel);
  for (const Shape& shape :
       {Shape{5, 6, 7}, Shape{33, 50, 40}, Shape{29, 67, 300}, Shape{1, 40, 30}, Shape{40, 1, 30}}) {
    const Shape s = runner.fit(shape);
    for (int ways = 0; ways < 64; ++ways) {
      Case test = runner.make(s);
      test.description.a = stored(ways % 4, s.m, s.k);
      test.description.b = stored(ways / 4 % 4, s.k, s.n);
      test.description.c = stored(ways / 16, s.m, s.n);
      test.beta = ways % 3 == 0 ? 1 : 0;
      runner.run(test);
    }
  }
  for (const Shape& shape : {Shape{7, 9, 11}, Shape{35, 49, 66}, Shape{1, 33, 270}, Shape{33, 1, 270}}) {
    const Shape s = runner.fit(shape);
    for (int way = 0; way < unusual_ways; ++way) {
      for (const int operand : {0, 1, 2}) {
        Case test = runner.make(s);
        if (operand != 1) test.description.a = unusual(way, s.m, s.k);
        if (operand != 0) test.description.b = unusual(way, s.k, s.n);
        runner.run(test);
      }
    }
    for (const OperandLayout& c : {OperandLayout{2 * s.n, 2}, OperandLayout{3 * s.n + 1, 3}, OperandLayout{2, 2 * s.m},
                                   OperandLayout{3, 3 * s.m + 5}}) {
      Case test = runner.make(s);
      test.description.c = c;
      test.beta = runner.turn() % 2 == 0 ? 0 : -1;
      runner.run(test);
    }
  }
  // Few rows, and a B beyond L2 whose rows lie a multiple of 2 KiB apart: loops may then pack several panels at once.
  if (tested_options().backend != Backend::cuda) {
    Case far = runner.make(runner.fit({21, 1003, 1101}));
    far.description.b = {2048, 1};
    far.beta = 1;
    runner.run(far);
  }
  return runner.tally();
}

Tally check_conjugates(const KernelOfType& kernel) {
  Runner runner(kernel);
  for (const Shape& shape : {Shape{9, 11, 10}, Shape{33, 50, 70}}) {
    const Shape s = runner.fit(shape);
    for (int ways = 0; ways < 64; ways += 2) {
      Case test = runner.make(s);
      test.description.a = stored(ways % 4, s.m, s.k);
      test.description.b = stored(ways / 4 % 4, s.k, s.n);
      test.description.c = stored(ways / 16, s.m, s.n);
      test.description.a.conjugate = ways / 2 % 3 != 1;
      test.description.b.conjugate = ways / 2 % 3 != 0;
      if (ways % 5 == 0) test.alpha = std::complex<double>(0.5, -2);
      runner.run(test);
    }
  }
  return runner.tally();
}

Tally check_scalars(const KernelOfType& kernel) {
  Runner runner(kernel);
  const bool floating = is_floating(kernel.types.input);
  for (const Shape& shape : {Shape{9, 11, 10}, Shape{30, 35, 290}, Shape{6, 5, 0}}) {
    for (const Scalar& alpha : floating ? some_scalars : some_integers) {
      for (const Scalar& beta : floating ? some_scalars : some_integers) {
        Case test = runner.make(runner.fit(shape));
        test.alpha = alpha;
        test.beta = beta;
        runner.run(test);
      }
    }
    if (!is_complex(kernel.types.input)) continue;
    Case test = runner.make(runner.fit(shape));
    test.alpha = std::complex<double>(0.5, -2);
    test.beta = std::complex<double>(0, 1.25);
    runner.run(test);
  }
  return runner.tally();
}

Tally check_epilogues(const KernelOfType& kernel) {
  Runner runner(kernel);
  const bool complex = is_complex(kernel.types.output);
  const bool floating = is_floating(kernel.types.output);
  for (const Shape& shape :
       {Shape{7, 9, 8}, Shape{50, 35, 40}, Shape{17, 50, 530}, Shape{1, 60, 50}, Shape{60, 1, 50}, Shape{13, 14, 0}}) {
    for (const Bias bias : {Bias::none, Bias::per_row, Bias::per_column}) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
        if (activation != Activation::none && complex) continue;
        if (activation == Activation::gelu && !floating) continue;
        for (const int beta : {0, 1}) {
          Case test = runner.make(runner.fit(shape));
          test.description.bias = bias;
          test.description.activation = activation;
          test.beta = beta;
          test.alpha = runner.turn() % 5 == 0 ? 0 : 1;
          if (runner.turn() % 4 == 0) test.description.c = {1, shape.m};
          runner.run(test);
        }
      }
    }
  }
  return runner.tally();
}

Tally check_scales(const KernelOfType& kernel) {
  Runner runner(kernel);
  if (!is_floating(kernel.types.input) || is_complex(kernel.types.input)) return {};
  const auto run = [&](const Shape& shape, int which, Fill fill, Scalar beta) {
    Case test = runner.make(runner.fit(shape));
    GemmDescription& d = test.description;
    d.row_scales = (which & 1) != 0;
    d.column_scales = (which & 2) != 0;
    test.fill = fill;
    test.beta = beta;
    const std::uint64_t turn = runner.turn();
    if (turn % 3 == 0) test.alpha = turn % 9 == 0 ? 0 : -0.75;
    if (turn % 4 == 0) d.c = {1, shape.m};
    if (turn % 5 == 0) d.c = {2 * shape.n + 1, 2};
    if (turn % 5 == 1) d.bias = turn % 2 == 0 ? Bias::per_row : Bias::per_column;
    if (turn % 7 == 0) d.activation = turn % 2 == 0 ? Activation::relu : Activation::gelu;
    runner.run(test);
  };
  for (const Shape& shape : {Shape{7, 9, 8}, Shape{17, 50, 70}, Shape{1, 60, 50}, Shape{60, 1, 50}, Shape{13, 14, 0},
                             Shape{40, 30, 1}, Shape{20, 30, 2100}, Shape{300, 9, 64}})
    for (const int which : {1, 2, 3})
      for (const Fill fill : verification::fills_for(kernel.types.input)) run(shape, which, fill, which == 2 ? 1 : 0);
  for (const Fill fill : {Fill::small_integers, Fill::normal, Fill::special_values})
    for (const Shape& shape : {Shape{17, 50, 2100}, Shape{140, 264, 130}}) run(shape, 3, fill, 0);
  for (const bool pointers : {false, true}) {
    const Shape s = runner.fit({33, 50, 70});
    Case test = runner.make(s);
    GemmDescription& d = test.description;
    d.batch_count = 3;
    d.row_scales = d.column_scales = true;
    d.a = {s.k, 1, s.m * s.k, pointers};
    d.c = {s.n, 1, s.m * s.n, pointers};
    runner.run(test);
  }
  return runner.tally();
}

Tally check_batches(const KernelOfType& kernel) {
  Runner runner(kernel);
  const auto layout = [](int kind, std::int64_t rows, std::int64_t columns) -> OperandLayout {
    switch (kind) {
      case 0: return {columns, 1, rows * columns};
      case 1: return {columns, 1, 0};                            // one matrix for all
      case 2: return {columns, 1, 0, true};                      // pointers
      case 3: return {columns + 1, 1, -((columns + 1) * rows)};  // backwards
      default: return {1, rows, rows * columns + 3};
    }
  };
  for (const Shape& shape : {Shape{9, 9, 9}, Shape{4, 35, 20}, Shape{1, 16, 33}, Shape{50, 33, 70}}) {
    const Shape s = runner.fit(shape);
    for (const std::int64_t count : {0, 1, 2, 7, 33}) {
      if (s.m == 50 && count == 33) continue;
      for (const auto& [a, b, c] : {std::tuple{0, 0, 0},
                                    {0, 1, 0},
                                    {1, 0, 4},
                                    {1, 1, 0},
                                    {2, 2, 2},
                                    {2, 0, 0},
                                    {0, 2, 2},
                                    {3, 4, 0},
                                    {4, 3, 2}}) {
        Case test = runner.make(s);
        test.description.batch_count = count;
        test.description.a = layout(a, s.m, s.k);
        test.description.b = layout(b, s.k, s.n);
        test.description.c = layout(c, s.m, s.n);
        test.beta = runner.turn() % 3 == 0 ? 1 : 0;
        runner.run(test);
      }
    }
  }
  // Rows of C interleaved with those of its neighbour: batch stride below row stride.
  const Shape s = runner.fit({8, 10, 12});
  Case test = runner.make(s);
  test.description.batch_count = 3;
  test.description.a = {s.k, 1, s.m * s.k};
  test.description.b = {s.n, 1, s.k * s.n};
  test.description.c = {3 * s.n, 1, s.n};
  runner.run(test);
  return runner.tally();
}

Tally check_fills(const KernelOfType& kernel) {
  Runner runner(kernel);
  for (const Fill fill : verification::fills_for(kernel.types.input)) {
    for (const Shape& shape : {Shape{4, 5, 3}, Shape{13, 17, 64}, Shape{33, 49, 100}, Shape{1, 50, 70},
                               Shape{50, 1, 70}, Shape{25, 66, 257}, Shape{61, 97, 31}}) {
      for (const int beta : {0, 1}) {
        Case test = runner.make(runner.fit(shape));
        test.fill = fill;
        test.beta = beta;
        runner.run(test);
      }
    }
  }
  return runner.tally();
}

Tally check_tiny(const KernelOfType& kernel) {
  Runner runner(kernel);
  for (std::int64_t m = 1; m <= 17; ++m)
    for (std::int64_t n = 1; n <= 17; ++n)
      for (std::int64_t k = 1; k <= 17; ++k) runner.run({m, n, k});
  return runner.tally();
}

}  // namespace exactile::test
