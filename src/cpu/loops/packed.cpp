// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/packed.hpp"

#include <algorithm>
#include <new>

#include "cpu/loops/c_tile.hpp"
#include "cpu/loops/kinds.hpp"
#include "cpu/loops/packed_product.hpp"
#include "cpu/threads/scratch.hpp"

namespace exactile::cpu {
namespace {

/// A C of so many bytes does not wait in L3 for its next chunk: other operands, and others' data, pass through.
constexpr std::int64_t least_far_bytes = 16 << 20;

/// Threads from which on each packs its share of A between row tiles. Two packing A together do not wait for memory,
/// and lose 1 to 2 % by packing ahead.
constexpr int least_packing_ahead = 8;

}  // namespace

template <class K>
Packed<K>::Packed(const plan::Problem& problem, const MicroKernels<K>& kernels, std::string_view name)
    : Packed(problem, kernels, name, outline_of(problem, preferred_orientation(problem.description), kernels)) {}

template <class K>
Packed<K>::Packed(const plan::Problem& problem, const MicroKernels<K>& kernels, std::string_view name,
                  const Outline& outline)
    : Base(problem, kernels, preferred_orientation(problem.description)),
      blocking_sizes_(tuned_blocking(name, problem, outline.model)),
      a_(o_, kernels, outline.a_source, blocking_sizes_.mr),
      a_elements_(core::round_up(a_.elements(blocking_sizes_), 1024)),
      b_elements_(core::round_up(blocking_sizes_.nc * packed_lanes<K>(blocking_sizes_.kc), 1024)),
      tile_elements_(core::round_up(a_.tile_elements(), 1024)),
      sums_elements_(outline.rounds_c ? blocking_sizes_.mr * blocking_sizes_.nc : 0),
      threads_(outline.threads),
      panel_count_(core::ceil_divide(o_.n, blocking_sizes_.nr)),
      panels_(core::ceil_divide(o_.n, kernels.lanes), panel_count_),
      row_blocks_(row_blocks_for<K>(o_, threads_, outline.a_source, core::ceil_divide(o_.m, blocking_sizes_.mr))),
      column_blocks_(column_blocks_for(panel_count_, blocking_sizes_, static_cast<int>(threads_ / row_blocks_))),
      c_is_far_(!outline.rounds_c && o_.m * o_.n >= least_far_bytes / std::int64_t{sizeof(Sum)}),
      rounded_(outline.rounds_c ? make_rounded_c(problem.description, o_.exchanged) : nullptr),
      of_sums_(o_),
      packs_groups_(packs_panels_together<K>(o_, blocking_sizes_.mr)) {
  if (outline.rounds_c) of_sums_.c = {.row_stride = blocking_sizes_.nc};
  this->blocking_ = blocking_sizes_.text();
  const auto m = static_cast<double>(o_.m);
  const auto n = static_cast<double>(o_.n);
  const auto k = static_cast<double>(o_.k);
  this->model_bytes_ =
      static_cast<double>(problem.description.batch_count) *
      (static_cast<double>(sizeof(Input<K>)) *
           (m * k * static_cast<double>(has_copy(a_.source()) ? 1 : column_blocks_) +
            k * n * static_cast<double>(core::ceil_divide(o_.m, blocking_sizes_.mc))) +
       static_cast<double>(sizeof(Sum)) * 2 * m * n * static_cast<double>(core::ceil_divide(o_.k, blocking_sizes_.kc)));
}

template <class K>
Status Packed<K>::run(const GemmArguments& arguments, const Execution&) const {
  auto* scratch = static_cast<Lane*>(thread_scratch(workspace_bytes()));
  if (scratch == nullptr)
    return {StatusCode::out_of_memory, "no memory for packing: " + std::to_string(workspace_bytes()) + " bytes"};
  Shared shared;
  if (!make(shared)) return {StatusCode::out_of_memory, "no memory for the counters of a team"};
  for (std::int64_t p = 0; p < this->description_.batch_count; ++p) {
    begin(shared);
    run_team(threads_, [&](const Member& member) { run_product(arguments, p, scratch, shared, member); });
  }
  if (rounded_ == nullptr) this->finish(arguments);
  return {};
}

template <class K>
bool Packed<K>::make(Shared& shared) const {
  shared.next_tiles.reset(new (std::nothrow) std::atomic<std::int64_t>[static_cast<std::size_t>(2 * blocks())]);
  const std::int64_t places = a_.least_places(o_.k);
  if (places > 0) shared.least.reset(new (std::nothrow) std::atomic<std::int32_t>[static_cast<std::size_t>(places)]);
  return shared.next_tiles != nullptr && (places == 0 || shared.least != nullptr);
}

/// Before each product.
template <class K>
void Packed<K>::begin(const Shared& shared) const {
  std::fill_n(shared.next_tiles.get(), 2 * blocks(), 0);
  if (shared.least != nullptr) std::fill_n(shared.least.get(), a_.least_places(o_.k), 0);
}

template <class K>
ABlock<K> Packed<K>::block_after(const ABlock<K>& block, Lane* buffer) const {
  const bool same_rows = block.terms.end < o_.k;
  const std::int64_t ic = same_rows ? block.rows.begin : block.rows.end;
  const std::int64_t pc = same_rows ? block.terms.end : 0;
  const Range rows{ic, std::min(ic + blocking_sizes_.mc, o_.m)};
  return {block.a, rows, {pc, std::min(pc + blocking_sizes_.kc, o_.k)}, buffer, nullptr};
}

template <class K>
void Packed<K>::run_product(const GemmArguments& arguments, std::int64_t product, Lane* scratch, const Shared& shared,
                            const Member& member) const {
  Operands<K> data = this->operands(arguments, product);
  if (rounded_ != nullptr) data = {data.a, data.b, nullptr, Sum(1), Sum(0)};
  Lane* room = scratch + a_buffers() * a_elements_ + member.id * room_elements();
  int buffer = 0;
  AShare<K> share;
  for (std::int64_t ic = 0; ic < o_.m; ic += blocking_sizes_.mc) {
    const Range rows{ic, std::min(ic + blocking_sizes_.mc, o_.m)};
    for (std::int64_t pc = 0; pc < o_.k; pc += blocking_sizes_.kc) {
      // Two buffers: packing the next block may begin while slower members still read this one.
      Lane* packed_a = scratch + buffer * a_elements_;
      std::atomic<std::int64_t>* next_tile = shared.next_tiles.get() + buffer * blocks();
      buffer = (buffer + 1) % a_buffers();
      const Range terms{pc, std::min(pc + blocking_sizes_.kc, o_.k)};
      const Step step{data,
                      {data.a, rows, terms, packed_a, shared.least.get()},
                      pc == 0 ? data.beta : Sum(1),
                      next_tile,
                      arguments,
                      product};
      // Of the first step members need nothing of each other unless they fill a block.
      const bool meets = a_.fills() || ic + pc > 0;
      if (meets && member.id == 0) std::fill_n(next_tile, blocks(), 0);
      if (share.exists())
        share.finish();
      else
        a_.fill(step.a, member);
      if (meets) member.meet();
      // Of column_blocks_ row tiles that a member multiplies, it packs one of the next block.
      if (threads_ >= least_packing_ahead && a_.packs_ahead())
        share = AShare<K>(a_, block_after(step.a, scratch + buffer * a_elements_), member, column_blocks_ / 2);
      compute(step, room, share, member);
    }
  }
  release_registers<K>();
}

/// Blocks of the same rows of an A in place begin with another tile each, so that members find different exponents.
template <class K>
BlockOfC<K> Packed<K>::block_at(const Step& step, std::int64_t index, Lane* room, AShare<K>& share, bool first) const {
  const std::int64_t column = index % column_blocks_;
  const Range panels = part_of(panel_count_, column_blocks_, column);
  const Range tiles = tiles_of(step, index);
  const bool is_apart = in_tile_registers<K> && a_.source() == ASource::in_place;
  const std::int64_t start =
      tiles.begin + (is_apart ? part_of(tiles.end - tiles.begin, column_blocks_, column).begin : 0);
  Lane* const tile = room + b_elements_;
  return {index,  tiles, start, panels, columns_of(panels), room, tile, reinterpret_cast<Sum*>(tile + tile_elements_),
          &share, first};
}

/// Each member starts on a block of its own; who is done goes where most rows are left.
template <class K>
void Packed<K>::compute(const Step& step, Lane* room, AShare<K>& share, const Member& member) const {
  bool is_first = true;
  for (std::int64_t index = member.id % blocks(); index >= 0; index = next_block(step, member)) {
    multiply_block(step, block_at(step, index, room, share, is_first), member);
    is_first = false;
  }
}

/// The block with most rows left, -1 if there is none. What is begun and nearly done is left to who is at it: packing
/// B takes longer.
template <class K>
std::int64_t Packed<K>::next_block(const Step& step, const Member& member) const {
  constexpr std::int64_t least_left = 5;
  std::int64_t most = 0;
  std::int64_t found = -1;
  for (std::int64_t i = 1; i < blocks(); ++i) {
    const std::int64_t index = (member.id + i) % blocks();
    const Range all = tiles_of(step, index);
    const std::int64_t tiles = all.end - all.begin;
    const std::int64_t left = tiles - step.next_tile[index].load(std::memory_order_relaxed);
    if (left <= most || (left < tiles && left < least_left)) continue;
    most = left;
    found = index;
  }
  return found;
}

/// Takes row tiles of a block until none are left: a 64th of what is left at a time, so that nobody waits long at the
/// next meeting where cores run at different speeds.
template <class K>
void Packed<K>::multiply_block(const Step& step, const Block& block, const Member& member) const {
  const std::int64_t tiles = block.tiles.end - block.tiles.begin;
  std::atomic<std::int64_t>& next = step.next_tile[block.index];
  const auto tile_at = [&](std::int64_t t) {
    const std::int64_t at = block.start + t;
    return at < block.tiles.end ? at : at - tiles;
  };
  bool packing = true;
  for (;;) {
    const std::int64_t left = tiles - next.load(std::memory_order_relaxed);
    const std::int64_t at_once = member.count == 1 ? tiles : core::ceil_divide(std::max<std::int64_t>(left, 1), 64);
    const std::int64_t tile = next.fetch_add(at_once, std::memory_order_relaxed);
    if (tile >= tiles) return;
    for (std::int64_t t = tile; t < std::min(tile + at_once, tiles); ++t) {
      multiply_row(step, block, {tile_at(t), tile_at(t + 1 < tiles ? t + 1 : 0)}, packing);
      packing = false;
      block.share->continue_packing();
    }
  }
}

/// A row tile times the block of columns. The first that a thread does packs B on the way.
template <class K>
void Packed<K>::multiply_row(const Step& step, const Block& block, TileAndNext tile, bool packing) const {
  const Range rows = a_.row_tile(step.a, tile.index);
  const Range next = a_.row_tile(step.a, tile.next);
  const Parts next_rows(next.end - next.begin, block.panels.end - block.panels.begin);
  const Range rows_of_c{step.a.rows.begin + rows.begin, step.a.rows.begin + rows.end};
  Sum* const c = rounded_ != nullptr ? block.sums : step.data.c + rows_of_c.begin * o_.c.row_stride;
  Lane* packed_b = block.packed_b;
  for (std::int64_t p = step.a.terms.begin; p < step.a.terms.end; p += chunk_terms<K>) {
    const Range terms{p, std::min(p + chunk_terms<K>, step.a.terms.end)};
    const RowTile row{.height = static_cast<int>(rows.end - rows.begin),
                      .terms = terms.end - terms.begin,
                      .beta = p == step.a.terms.begin ? step.beta : Sum(1),
                      .a = a_.tile(step.a, tile.index, terms, block.packed_tile, block.is_first),
                      .b = step.data.b + p * o_.b.row_stride,
                      .packed_b = packed_b,
                      .c = c,
                      .next = a_.coming(step.a, next, terms, block.is_first && tile.next > tile.index),
                      .next_rows = next_rows};
    if (packing || !c_is_row_contiguous(of_sums_))
      for (std::int64_t panel = block.panels.begin; panel < block.panels.end; ++panel) {
        if (packs_groups_ && packing) pack_group(block, row, panel);
        multiply_panel(block, row, panel, step.data.alpha, packing);
      }
    else
      multiply_packed_panels(block, row, step.data.alpha);
    packed_b += (block.columns.end - block.columns.begin) * packed_lanes<K>(row.terms);
  }
  if constexpr (std::is_same_v<Sum, float>)
    if (rounded_ != nullptr)
      rounded_->store(step.arguments, step.product, rows_of_c, {block.columns.begin, std::min(block.columns.end, o_.n)},
                      c, of_sums_.c.row_stride);
}

/// At the first of some panels packs them together, so that what is read of a row of B is long, and that other threads
/// wait for memory while this one multiplies.
template <class K>
void Packed<K>::pack_group(const Block& block, const RowTile& row, std::int64_t panel) const {
  constexpr std::int64_t together = 8;
  if ((panel - block.panels.begin) % together != 0) return;
  const std::int64_t last = std::min(panel + together, block.panels.end);
  while (panel < last) {
    const Range columns = columns_of({panel, panel + 1});
    const std::int64_t width = columns.end - columns.begin;
    std::int64_t end = columns.end;
    for (++panel; panel < last && columns_of({panel, panel + 1}).end == end + width; ++panel) end += width;
    kernels_.pack_b(row.b + columns.begin * o_.b.column_stride, o_.b.column_stride, o_.b.row_stride,
                    std::min(end, o_.n) - columns.begin, width, row.terms,
                    row.packed_b + (columns.begin - block.columns.begin) * packed_lanes<K>(row.terms));
  }
}

/// All panels of a row tile, packed, into a C whose columns are neighbours. Few terms are over before what
/// multiply_panel() finds anew for each panel is found: here each width of panels finds its kernel once.
template <class K>
void Packed<K>::multiply_packed_panels(const Block& block, const RowTile& row, Sum alpha) const {
  TileShape shape{
      row.a.stride,    0, of_sums_.c.row_stride, lanes_of<K>(row.terms), kernels_.lanes, o_.a.conjugate, o_.b.conjugate,
      row.a.least_of_a};
  const std::int64_t lanes_of_terms = packed_lanes<K>(row.terms);
  const Lane* b = row.packed_b;
  Sum* c = row.c + (rounded_ != nullptr ? 0 : block.columns.begin);
  typename MicroKernels<K>::AskingKernel kernel = nullptr;
  for (std::int64_t panel = block.panels.begin; panel < block.panels.end; ++panel) {
    const Range part = panels_.part(panel);
    const std::int64_t vectors = part.end - part.begin;
    if (vectors < 2 || part.end * kernels_.lanes > o_.n || kernels_.is_short(row.height, static_cast<int>(vectors))) {
      multiply_panel(block, row, panel, alpha, false);
    } else {
      if (const std::int64_t width = vectors * kernels_.lanes; width != shape.b_stride) {
        shape.b_stride = width;
        kernel = kernels_.asking_tile(a_.order(), row.height, static_cast<int>(vectors));
      }
      kernel(shape, row.a.first, b, c, alpha, row.beta, ahead_of(block, row, panel, c));
    }
    b += vectors * kernels_.lanes * lanes_of_terms;
    c += vectors * kernels_.lanes;
  }
}

template <class K>
Ahead<Sum<K>> Packed<K>::ahead_of(const Block& block, const RowTile& row, std::int64_t panel, const Sum* c) const {
  // An A in place of tile registers is in L2 when it comes again, and what asks for it takes their time.
  if (in_tile_registers<K> && a_.source() == ASource::in_place) return {};
  const Range mine = row.next_rows.part(panel - block.panels.begin);
  if (mine.begin == mine.end)
    if (const Input<K>* place = block.share->ask())
      return {place, 0, 1, c, of_sums_.c.row_stride, row.height, c_is_far_};
  return {.a = static_cast<const char*>(row.next.first) + mine.begin * row.next.row_stride,
          .a_stride = row.next.row_stride,
          .a_rows = static_cast<int>(mine.end - mine.begin),
          .lines = c,
          .line_stride = of_sums_.c.row_stride,
          .line_rows = row.height,
          .lines_are_far = c_is_far_};
}

/// One tile of C, one chunk of terms.
template <class K>
void Packed<K>::multiply_panel(const Block& block, const RowTile& row, std::int64_t panel, Sum alpha,
                               bool packing) const {
  const Range columns = columns_of({panel, panel + 1});
  const std::int64_t packed_width = columns.end - columns.begin;
  const std::int64_t width = std::min(columns.end, o_.n) - columns.begin;
  const Range part = panels_.part(panel);
  const int vectors = static_cast<int>(part.end - part.begin);
  const std::int64_t last_lanes = width - (vectors - 1) * kernels_.lanes;
  const AOrder order = a_.order();
  // Kernels that do something beside have at least two vectors, and those whole, and half of their rows.
  const bool is_whole = width == packed_width && vectors > 1 && !kernels_.is_short(row.height, vectors);
  const bool packs_here = packing && !packs_groups_;
  const bool packs_itself = packs_here && is_whole && o_.b.column_stride == 1;
  const Input<K>* b = row.b + columns.begin * o_.b.column_stride;
  Lane* packed_b = row.packed_b + (columns.begin - block.columns.begin) * packed_lanes<K>(row.terms);
  if (packs_here && !packs_itself)
    kernels_.pack_b(b, o_.b.column_stride, o_.b.row_stride, width, packed_width, row.terms, packed_b);
  const bool is_contiguous = c_is_row_contiguous(of_sums_);
  const bool asks = !packs_itself && is_whole && is_contiguous;
  const std::int64_t column = columns.begin - (rounded_ != nullptr ? block.columns.begin : 0);
  Sum* const c = row.c + column * (is_contiguous ? 1 : of_sums_.c.column_stride);
  update_tile(c, of_sums_, row.beta, row.height, width, !asks, [&](Sum* to, std::int64_t c_stride) {
    const TileShape shape{row.a.stride,   packs_itself ? o_.b.row_stride : packed_width,
                          c_stride,       lanes_of<K>(row.terms),
                          last_lanes,     o_.a.conjugate,
                          o_.b.conjugate, row.a.least_of_a};
    if constexpr (reads_operands<K>)
      if (packs_itself) {
        kernels_.packing_tile(order, row.height, vectors)(shape, row.a.first, b, to, alpha, row.beta, packed_b);
        return;
      }
    if (asks) {
      const Ahead<Sum> ahead = ahead_of(block, row, panel, to);
      kernels_.asking_tile(order, row.height, vectors)(shape, row.a.first, packed_b, to, alpha, row.beta, ahead);
    } else {
      const bool masked = last_lanes != kernels_.lanes;
      kernels_.tile(order, row.height, vectors, masked)(shape, row.a.first, packed_b, to, alpha, row.beta);
    }
  });
}

template <class K>
std::unique_ptr<plan::Executable> make_packed(const plan::Problem& problem, const MicroKernels<K>& kernels,
                                              std::string_view name) {
  return std::make_unique<Packed<K>>(problem, kernels, name);
}

#define EXACTILE_MAKE(...)                                                                                       \
  template std::unique_ptr<plan::Executable> make_packed(const plan::Problem&, const MicroKernels<__VA_ARGS__>&, \
                                                         std::string_view);
EXACTILE_FOR_EACH_KIND(EXACTILE_MAKE)

}  // namespace exactile::cpu
