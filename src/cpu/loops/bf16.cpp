// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/bf16.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <utility>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "cpu/loops/partition.hpp"
#include "cpu/micro/tile.hpp"
#include "cpu/threads/team.hpp"
#include "plan/transposed.hpp"
#include "reference/naive.hpp"

namespace exactile::cpu {
namespace {

/// A matrix as lines of neighbours, or of what comes nearest to them.
struct LinesOf {
  std::int64_t lines;
  std::int64_t length;
  std::int64_t line_stride;
  std::int64_t stride;
};

LinesOf lines_of(const OperandLayout& layout, std::int64_t rows, std::int64_t columns) {
  const bool by_columns = std::abs(layout.row_stride) < std::abs(layout.column_stride) || columns == 1;
  return by_columns ? LinesOf{columns, rows, layout.column_stride, layout.row_stride}
                    : LinesOf{rows, columns, layout.row_stride, layout.column_stride};
}

constexpr int no_exponent = no_magnitude >> 7;

/// The smallest of the numbers other than zero, as an exponent as it is stored: 0 is subnormal; no_exponent of none.
int smallest_exponent(const BFloat16* from, const LinesOf& lines, Range mine) {
  const BFloat16* first = from + mine.begin * lines.line_stride;
  const std::int64_t count = mine.end - mine.begin;
  std::uint32_t smallest = no_magnitude;
  if (lines.stride == 1) {
    smallest = avx512_smallest_magnitude(first, count, lines.line_stride, lines.length);
  } else {
    for (std::int64_t i = 0; i < lines.length; ++i)
      smallest = std::min(smallest, avx512_smallest_magnitude(first + i * lines.stride, count, lines.line_stride, 1));
  }
  return static_cast<int>(smallest >> 7);
}

/// Whether this thread's sums of f32 are rounded to nearest. std::fegetround() may speak of x87's alone.
bool rounds_to_nearest() {
#if defined(__x86_64__)
  return _MM_GET_ROUNDING_MODE() == _MM_ROUND_NEAREST;
#else
  return std::fegetround() == FE_TONEAREST;
#endif
}

class Bf16 final : public plan::Executable {
 public:
  Bf16(const plan::Problem& problem, std::unique_ptr<plan::Executable> pairs, std::unique_ptr<plan::Executable> widened)
      : d_(problem.description), pairs_(std::move(pairs)), widened_(std::move(widened)) {}

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override {
    const bool same_bits = rounds_to_nearest() && nothing_is_flushed(arguments);
    return (same_bits ? pairs_ : widened_)->run(arguments, execution);
  }
  [[nodiscard]] std::string blocking() const override { return pairs_->blocking(); }
  [[nodiscard]] int threads() const override { return pairs_->threads(); }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return std::max(pairs_->workspace_bytes(), widened_->workspace_bytes());
  }
  [[nodiscard]] double model_bytes() const override { return pairs_->model_bytes(); }

 private:
  [[nodiscard]] int smallest_of(const void* operand, const OperandLayout& layout, std::int64_t rows,
                                std::int64_t columns) const {
    const LinesOf lines = lines_of(layout, rows, columns);
    const std::int64_t all = lines.lines * plan::distinct_matrices(layout, d_.batch_count);
    if (threads() == 1) return smallest_of_lines(operand, layout, lines, {0, all});
    std::atomic<int> smallest{no_exponent};
    run_team(threads(), [&](const Member& member) {
      const int mine = smallest_of_lines(operand, layout, lines, part_of(all, member.count, member.id));
      for (int before = smallest; mine < before && !smallest.compare_exchange_weak(before, mine);) {
      }
    });
    return smallest;
  }
  /// Of lines that are counted through all matrices.
  static int smallest_of_lines(const void* operand, const OperandLayout& layout, const LinesOf& lines, Range mine) {
    int smallest = no_exponent;
    for (std::int64_t at = mine.begin; at < mine.end;) {
      const std::int64_t begin = at % lines.lines;
      const std::int64_t count = std::min(mine.end - at, lines.lines - begin);
      const auto* from =
          static_cast<const BFloat16*>(reference::product_base(operand, layout, at / lines.lines, sizeof(BFloat16)));
      smallest = std::min(smallest, smallest_exponent(from, lines, {begin, begin + count}));
      at += count;
    }
    return smallest;
  }
  [[nodiscard]] bool nothing_is_flushed(const GemmArguments& arguments) const {
    constexpr int bias = 127;
    const int a = smallest_of(arguments.a, d_.a, d_.m, d_.k);
    const int b = smallest_of(arguments.b, d_.b, d_.k, d_.n);
    return a > 0 && b > 0 && (a - bias) + (b - bias) >= -112;
  }

  GemmDescription d_;
  std::unique_ptr<plan::Executable> pairs_;
  std::unique_ptr<plan::Executable> widened_;
};

}  // namespace

std::unique_ptr<plan::Executable> make_bf16(const plan::Problem& problem, std::unique_ptr<plan::Executable> pairs,
                                            std::unique_ptr<plan::Executable> widened) {
  return std::make_unique<Bf16>(problem, std::move(pairs), std::move(widened));
}

}  // namespace exactile::cpu
