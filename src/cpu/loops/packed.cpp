// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/packed.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "cpu/loops/a_block.hpp"
#include "cpu/loops/a_share.hpp"
#include "cpu/loops/c_tile.hpp"
#include "cpu/loops/loop_step.hpp"
#include "cpu/loops/outline.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

/// A C of so many bytes does not wait in L3 for its next chunk: other operands, and others' data, pass through.
constexpr std::int64_t least_far_bytes = 16 << 20;

/// Threads from which on each packs its share of A between row tiles. Two packing A together do not wait for memory,
/// and lose 1 to 2 % by packing ahead.
constexpr int least_packing_ahead = 8;

template <class T>
class Packed final : public Product<T> {
 public:
  Packed(const plan::Problem& problem, const MicroKernels<T>& kernels, std::string_view name);

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override;
  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return static_cast<std::int64_t>(sizeof(T)) *
           (a_buffers() * a_elements_ + threads_ * (b_elements_ + tile_elements_));
  }

 private:
  using Base = Product<T>;
  using Base::kernels_;
  using Base::o_;
  using Step = LoopStep<T>;
  using Block = ColumnBlock<T>;
  using RowTile = cpu::RowTile<T>;
  using Counters = std::unique_ptr<std::atomic<std::int64_t>[]>;

  Packed(const plan::Problem& problem, const MicroKernels<T>& kernels, std::string_view name, const Outline& outline);

  void run_product(const Operands<T>& data, T* scratch, const Counters& counters, const Member& member) const;
  /// The block of A after that one, in the other buffer; without rows after the last.
  [[nodiscard]] ABlock<T> block_after(const ABlock<T>& block, T* buffer) const;
  void compute(const Step& step, T* room, AShare<T>& share, const Member& member) const;
  [[nodiscard]] std::int64_t next_block(const Step& step, std::int64_t tiles, const Member& member) const;
  void multiply_block(const Step& step, const Block& block, std::atomic<std::int64_t>& next,
                      const Member& member) const;
  void multiply_row(const Step& step, const Block& block, std::int64_t index, bool packing) const;
  void multiply_panel(const Block& block, const RowTile& row, std::int64_t panel, T alpha, bool packing) const;
  /// The share of one panel in asking for the next tile of A, and its tile of C.
  [[nodiscard]] Ahead<T> ahead_of(const Block& block, const RowTile& row, std::int64_t panel, const T* c) const;
  [[nodiscard]] Range columns_of(Range panels) const {
    return {panels_.part(panels.begin).begin * kernels_.lanes, panels_.part(panels.end - 1).end * kernels_.lanes};
  }
  /// Two where members may pack the next block while others read this one.
  [[nodiscard]] int a_buffers() const { return threads_ == 1 ? 1 : 2; }

  Blocking blocking_sizes_;
  AReader<T> a_;
  std::int64_t a_elements_;     ///< of one buffer of A
  std::int64_t b_elements_;     ///< of one thread's block of B
  std::int64_t tile_elements_;  ///< of one thread's tile of A
  int threads_;
  std::int64_t panel_count_;
  Parts panels_;                ///< of NR columns or a vector less, in vectors
  std::int64_t column_blocks_;  ///< blocks of nearly equal width, at least one for each thread where there are so many
  bool c_is_far_;               ///< so large that its tiles come from memory
};

template <class T>
Packed<T>::Packed(const plan::Problem& problem, const MicroKernels<T>& kernels, std::string_view name)
    : Packed(problem, kernels, name, outline_of(problem, preferred_orientation(problem.description), kernels)) {}

template <class T>
Packed<T>::Packed(const plan::Problem& problem, const MicroKernels<T>& kernels, std::string_view name,
                  const Outline& outline)
    : Base(problem, kernels, preferred_orientation(problem.description)),
      blocking_sizes_(tuned_blocking(name, problem, outline.model)),
      a_(o_, kernels, outline.a_source, blocking_sizes_.mr),
      a_elements_(core::round_up(a_.elements(blocking_sizes_), 1024)),
      b_elements_(core::round_up(blocking_sizes_.nc * blocking_sizes_.kc, 1024)),
      tile_elements_(core::round_up(a_.tile_elements(), 1024)),
      threads_(outline.threads),
      panel_count_(core::ceil_divide(o_.n, blocking_sizes_.nr)),
      panels_(core::ceil_divide(o_.n, kernels.lanes), panel_count_),
      column_blocks_(column_blocks_for(panel_count_, blocking_sizes_, threads_)),
      c_is_far_(o_.m * o_.n >= least_far_bytes / std::int64_t{sizeof(T)}) {
  this->blocking_ = blocking_sizes_.text();
  const auto m = static_cast<double>(o_.m);
  const auto n = static_cast<double>(o_.n);
  const auto k = static_cast<double>(o_.k);
  this->model_bytes_ = static_cast<double>(sizeof(T)) * static_cast<double>(problem.description.batch_count) *
                       (m * k * static_cast<double>(has_copy(a_.source()) ? 1 : column_blocks_) +
                        k * n * static_cast<double>(core::ceil_divide(o_.m, blocking_sizes_.mc)) +
                        2 * m * n * static_cast<double>(core::ceil_divide(o_.k, blocking_sizes_.kc)));
}

template <class T>
Status Packed<T>::run(const GemmArguments& arguments, const Execution&) const {
  auto* scratch = static_cast<T*>(thread_scratch(workspace_bytes()));
  if (scratch == nullptr)
    return {StatusCode::out_of_memory, "no memory for packing: " + std::to_string(workspace_bytes()) + " bytes"};
  const Counters counters(new (std::nothrow) std::atomic<std::int64_t>[static_cast<std::size_t>(2 * column_blocks_)]);
  if (counters == nullptr) return {StatusCode::out_of_memory, "no memory for the counters of a team"};
  for (std::int64_t p = 0; p < this->description_.batch_count; ++p) {
    const Operands<T> data = this->operands(arguments, p);
    run_team(threads_, [&](const Member& member) { run_product(data, scratch, counters, member); });
  }
  this->finish(arguments);
  return {};
}

template <class T>
ABlock<T> Packed<T>::block_after(const ABlock<T>& block, T* buffer) const {
  const bool same_rows = block.terms.end < o_.k;
  const std::int64_t ic = same_rows ? block.rows.begin : block.rows.end;
  const std::int64_t pc = same_rows ? block.terms.end : 0;
  const Range rows{ic, std::min(ic + blocking_sizes_.mc, o_.m)};
  return {block.a, rows, {pc, std::min(pc + blocking_sizes_.kc, o_.k)}, buffer};
}

template <class T>
void Packed<T>::run_product(const Operands<T>& data, T* scratch, const Counters& counters, const Member& member) const {
  T* room = scratch + a_buffers() * a_elements_ + member.id * (b_elements_ + tile_elements_);
  int buffer = 0;
  AShare<T> share;
  for (std::int64_t ic = 0; ic < o_.m; ic += blocking_sizes_.mc) {
    const Range rows{ic, std::min(ic + blocking_sizes_.mc, o_.m)};
    for (std::int64_t pc = 0; pc < o_.k; pc += blocking_sizes_.kc) {
      // Two buffers: packing the next block may begin while slower members still read this one.
      T* packed_a = scratch + buffer * a_elements_;
      std::atomic<std::int64_t>* next_tile = counters.get() + buffer * column_blocks_;
      buffer = (buffer + 1) % a_buffers();
      const Step step{data,
                      {data.a, rows, {pc, std::min(pc + blocking_sizes_.kc, o_.k)}, packed_a},
                      pc == 0 ? data.beta : T(1),
                      next_tile};
      if (member.id == 0) std::fill_n(next_tile, column_blocks_, 0);
      if (share.exists())
        share.finish();
      else
        a_.fill(step.a, member);
      member.meet();
      // Of column_blocks_ row tiles that a member multiplies, it packs one of the next block.
      if (threads_ >= least_packing_ahead && a_.packs_ahead())
        share = AShare<T>(a_, block_after(step.a, scratch + buffer * a_elements_), member, column_blocks_ / 2);
      compute(step, room, share, member);
    }
  }
}

/// Each member starts on a block of columns of its own; who is done goes where most rows are left.
template <class T>
void Packed<T>::compute(const Step& step, T* room, AShare<T>& share, const Member& member) const {
  const std::int64_t tiles = a_.tiles(step.a);
  bool is_first = true;
  for (std::int64_t index = member.id % column_blocks_; index >= 0; index = next_block(step, tiles, member)) {
    const Range panels = part_of(panel_count_, column_blocks_, index);
    multiply_block(step, {panels, columns_of(panels), room, room + b_elements_, &share, is_first},
                   step.next_tile[index], member);
    is_first = false;
  }
}

/// The block with most rows left, -1 if there is none. What is begun and nearly done is left to who is at it: packing
/// B takes longer.
template <class T>
std::int64_t Packed<T>::next_block(const Step& step, std::int64_t tiles, const Member& member) const {
  constexpr std::int64_t least_left = 5;
  std::int64_t most = 0;
  std::int64_t found = -1;
  for (std::int64_t i = 1; i < column_blocks_; ++i) {
    const std::int64_t index = (member.id + i) % column_blocks_;
    const std::int64_t left = tiles - step.next_tile[index].load(std::memory_order_relaxed);
    if (left <= most || (left < tiles && left < least_left)) continue;
    most = left;
    found = index;
  }
  return found;
}

/// Takes rows of a block until none are left: a 64th of what is left at a time, so that nobody waits long at the next
/// meeting where cores run at different speeds.
template <class T>
void Packed<T>::multiply_block(const Step& step, const Block& block, std::atomic<std::int64_t>& next,
                               const Member& member) const {
  const std::int64_t tiles = a_.tiles(step.a);
  bool packing = true;
  for (;;) {
    const std::int64_t left = tiles - next.load(std::memory_order_relaxed);
    const std::int64_t at_once = member.count == 1 ? tiles : core::ceil_divide(std::max<std::int64_t>(left, 1), 64);
    const std::int64_t tile = next.fetch_add(at_once, std::memory_order_relaxed);
    if (tile >= tiles) return;
    for (std::int64_t t = tile; t < std::min(tile + at_once, tiles); ++t) {
      multiply_row(step, block, t, packing);
      packing = false;
      block.share->continue_packing();
    }
  }
}

/// Row tile `index` of the step times the block of columns. The first one a thread does packs B on the way.
template <class T>
void Packed<T>::multiply_row(const Step& step, const Block& block, std::int64_t index, bool packing) const {
  const Range rows = a_.row_tile(step.a, index);
  const Range next = a_.row_tile(step.a, index + 1 < a_.tiles(step.a) ? index + 1 : 0);
  const Parts next_rows(next.end - next.begin, block.panels.end - block.panels.begin);
  T* c = step.data.c + (step.a.rows.begin + rows.begin) * o_.c.row_stride;
  T* packed_b = block.packed_b;
  for (std::int64_t p = step.a.terms.begin; p < step.a.terms.end; p += chunk_terms<T>) {
    const Range terms{p, std::min(p + chunk_terms<T>, step.a.terms.end)};
    const RowTile row{.height = static_cast<int>(rows.end - rows.begin),
                      .k = terms.end - terms.begin,
                      .beta = p == step.a.terms.begin ? step.beta : T(1),
                      .a = a_.tile(step.a, rows, terms, block.packed_tile, block.is_first),
                      .b = step.data.b + p * o_.b.row_stride,
                      .packed_b = packed_b,
                      .c = c,
                      .next = a_.coming(step.a, next, terms, block.is_first && index + 1 < a_.tiles(step.a)),
                      .next_rows = next_rows};
    for (std::int64_t panel = block.panels.begin; panel < block.panels.end; ++panel)
      multiply_panel(block, row, panel, step.data.alpha, packing);
    packed_b += (block.columns.end - block.columns.begin) * row.k;
  }
}

template <class T>
Ahead<T> Packed<T>::ahead_of(const Block& block, const RowTile& row, std::int64_t panel, const T* c) const {
  const Range mine = row.next_rows.part(panel - block.panels.begin);
  if (mine.begin == mine.end)
    if (const T* place = block.share->ask()) return {place, 0, 1, c, o_.c.row_stride, row.height, c_is_far_};
  return {.a = row.next.first + mine.begin * row.next.row_stride,
          .a_stride = row.next.row_stride,
          .a_rows = static_cast<int>(mine.end - mine.begin),
          .lines = c,
          .line_stride = o_.c.row_stride,
          .line_rows = row.height,
          .lines_are_far = c_is_far_};
}

/// One tile of C, one chunk of terms.
template <class T>
void Packed<T>::multiply_panel(const Block& block, const RowTile& row, std::int64_t panel, T alpha,
                               bool packing) const {
  const Range columns = columns_of({panel, panel + 1});
  const std::int64_t packed_width = columns.end - columns.begin;
  const std::int64_t width = std::min(columns.end, o_.n) - columns.begin;
  const Range part = panels_.part(panel);
  const int vectors = static_cast<int>(part.end - part.begin);
  const std::int64_t last_lanes = width - (vectors - 1) * kernels_.lanes;
  const AOrder order = a_.order();
  // Kernels that do something beside have at least two vectors, and those whole.
  const bool is_whole = width == packed_width && vectors > 1;
  const bool packs_itself = packing && is_whole && o_.b.column_stride == 1;
  const T* b = row.b + columns.begin * o_.b.column_stride;
  T* packed_b = row.packed_b + (columns.begin - block.columns.begin) * row.k;
  if (packing && !packs_itself)
    kernels_.pack(b, o_.b.column_stride, o_.b.row_stride, width, packed_width, row.k, packed_b);
  const bool asks = !packs_itself && is_whole && c_is_row_contiguous(o_);
  T* c = row.c + columns.begin * (c_is_row_contiguous(o_) ? 1 : o_.c.column_stride);
  update_tile(c, o_, row.beta, row.height, width, !asks, [&](T* to, std::int64_t c_stride) {
    const TileShape shape{row.a.stride, packs_itself ? o_.b.row_stride : packed_width, c_stride, row.k, last_lanes};
    if (packs_itself) {
      kernels_.packing_tile(order, row.height, vectors)(shape, row.a.first, b, to, alpha, row.beta, packed_b);
    } else if (asks) {
      const Ahead<T> ahead = ahead_of(block, row, panel, to);
      kernels_.asking_tile(order, row.height, vectors)(shape, row.a.first, packed_b, to, alpha, row.beta, ahead);
    } else {
      const bool masked = last_lanes != kernels_.lanes;
      kernels_.tile(order, row.height, vectors, masked)(shape, row.a.first, packed_b, to, alpha, row.beta);
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<plan::Executable> make_packed(const plan::Problem& problem, const MicroKernels<T>& kernels,
                                              std::string_view name) {
  return std::make_unique<Packed<T>>(problem, kernels, name);
}

template std::unique_ptr<plan::Executable> make_packed(const plan::Problem&, const MicroKernels<float>&,
                                                       std::string_view);
template std::unique_ptr<plan::Executable> make_packed(const plan::Problem&, const MicroKernels<double>&,
                                                       std::string_view);

}  // namespace exactile::cpu
