// SPDX-License-Identifier: Apache-2.0
/// \file How the packed loops read A.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cpu/loops/blocking.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/micro/amx.hpp"
#include "cpu/micro/choose_tile.hpp"
#include "cpu/micro/tile.hpp"
#include "cpu/orientation.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {

/// Where the micro-kernel finds A: where it lies, along its rows; in a copy of a block, whose rows lie one behind the
/// other; in panels of MR rows, term after term; or in such panels that are packed one by one on the way: each time,
/// for one block of columns, or with the first block, for all that follow.
enum class ASource : std::uint8_t { in_place, copied, packed, packed_by_tile, packed_with_first };

/// From row to row of a copy: rows a multiple of 4 KiB apart would share one set of L1.
template <class K>
inline constexpr std::int64_t copy_stride = lanes_of<K>(chunk_terms<K>) +
                                            64 / static_cast<std::int64_t>(sizeof(Lane<K>));

/// Whether packing a tile of A pays as often as it is read: one thread packs it with the first block of columns, and
/// reads it again for a third of that. Where each of a few blocks has a thread, all packing together first and waiting
/// for each other costs as much as it saves.
[[nodiscard]] inline ASource packed_source_of(int threads, std::int64_t column_blocks) {
  constexpr std::int64_t least_shared = 4;
  if (threads == 1 && column_blocks > 1) return ASource::packed_with_first;
  return column_blocks >= least_shared ? ASource::packed : ASource::packed_by_tile;
}

/// Whether micro-kernels find rows of A, whose terms are neighbours, where they lie: tile registers load whole lanes.
template <class K>
[[nodiscard]] bool reads_rows_of_a(const Orientation& o) {
  constexpr std::int64_t group = Elements<K>::group;
  return reads_operands<K> || (in_tile_registers<K> && o.a.column_stride == 1 && o.k % group == 0 &&
                               (o.m == 1 || o.a.row_stride % group == 0));
}

/// A whose terms are not neighbours is packed. One that is read often from behind L2 is worth a copy: its rows lie on
/// a page or more each, more pages than a processor finds the addresses of without a walk through their tables.
template <class K>
[[nodiscard]] ASource a_source_of(const Orientation& o, const LoopTile& tile, int threads, std::int64_t column_blocks) {
  constexpr double least_copied_bytes = 4 << 20;
  constexpr std::int64_t least_copied_columns = 1024;
  if (o.a.column_stride != 1 && o.k != 1) return ASource::packed;
  if (tile.packs_a) return packed_source_of(threads, column_blocks);
  const double bytes = static_cast<double>(sizeof(Input<K>)) * static_cast<double>(o.m) * static_cast<double>(o.k);
  const bool is_near = bytes < least_copied_bytes || o.n < least_copied_columns;
  if (is_near && reads_rows_of_a<K>(o)) return ASource::in_place;
  return in_tile_registers<K> ? packed_source_of(threads, column_blocks) : ASource::copied;
}

/// The part of A that one step of the ic and pc loops reads.
template <class K>
struct ABlock {
  const Input<K>* a;  ///< the operand's first element
  Range rows;
  Range terms;
  Lane<K>* copy;  ///< room for AReader::elements()
  /// Of an A in place, see AReader::least_of: what members found so far, each plus one.
  std::atomic<std::int32_t>* least;
};

/// Whether a block of A has a copy, in panels or not.
[[nodiscard]] inline bool has_copy(ASource source) {
  return source == ASource::copied || source == ASource::packed || source == ASource::packed_with_first;
}

/// A row tile's chunk of terms.
template <class K>
struct ATile {
  const Lane<K>* first;
  std::int64_t stride;      ///< as in TileShape
  std::int32_t least_of_a;  ///< the same
};

/// Where a tile's bytes are.
struct TileBytes {
  const void* first;
  std::int64_t
      row_stride;  ///< in bytes, from one row's terms to the next one's; of a packed tile, any equal parts of it
};

template <class K>
class AReader {
 public:
  AReader(const Orientation& o, const MicroKernels<K>& kernels, ASource source, std::int64_t mr)
      : kernels_(kernels),
        source_(source),
        mr_(mr),
        all_tiles_(core::ceil_divide(o.m, mr)),
        row_stride_(o.a.row_stride),
        term_stride_(o.a.column_stride) {}

  [[nodiscard]] ASource source() const { return source_; }
  [[nodiscard]] AOrder order() const {
    return source_ == ASource::in_place || source_ == ASource::copied ? AOrder::rows : AOrder::columns;
  }
  /// Of the largest block's copy; none where A is read in place.
  [[nodiscard]] std::int64_t elements(const Blocking& blocking) const {
    const std::int64_t chunks = core::ceil_divide(blocking.kc, chunk_terms<K>);
    switch (source_) {
      case ASource::packed:
      case ASource::packed_with_first: return blocking.mc * packed_lanes<K>(blocking.kc);
      case ASource::copied: return blocking.mc * chunks * copy_stride<K>;
      case ASource::in_place:
      case ASource::packed_by_tile: break;
    }
    return 0;
  }
  /// Of the one tile that each thread packs for itself; none where A is read otherwise.
  [[nodiscard]] std::int64_t tile_elements() const {
    return source_ == ASource::packed_by_tile ? mr_ * packed_lanes<K>(chunk_terms<K>) : 0;
  }

  [[nodiscard]] std::int64_t tiles(const ABlock<K>& block) const {
    return core::ceil_divide(block.rows.end - block.rows.begin, mr_);
  }
  /// Rows of tile `index`, counted from the block's first.
  [[nodiscard]] Range row_tile(const ABlock<K>& block, std::int64_t index) const {
    return part_of(block.rows.end - block.rows.begin, tiles(block), index);
  }
  /// Tile `index` as the micro-kernel reads it; `room` for tile_elements(), `first` for the first block of columns.
  [[nodiscard]] ATile<K> tile(const ABlock<K>& block, std::int64_t index, Range terms, Lane<K>* room,
                              bool first) const {
    const Range rows = row_tile(block, index);
    const bool by_tile = source_ == ASource::packed_by_tile;
    const bool packs = by_tile || (source_ == ASource::packed_with_first && first);
    const std::int64_t height = rows.end - rows.begin;
    ATile<K> tile = by_tile ? ATile<K>{room, height, 0} : place(block, rows, terms);
    if (block.least != nullptr) tile.least_of_a = least_of(block, index, terms);
    if (packs)
      kernels_.pack_a(source(block, rows, terms), row_stride_, 1, height, height, terms.end - terms.begin,
                      const_cast<Lane<K>*>(tile.first));
    return tile;
  }
  /// Where the bytes of that tile are when its turn comes, to be asked for ahead.
  [[nodiscard]] TileBytes coming(const ABlock<K>& block, Range rows, Range terms, bool first) const {
    const bool is_unpacked = source_ == ASource::packed_by_tile || (source_ == ASource::packed_with_first && first);
    if (is_unpacked) return {source(block, rows, terms), row_stride_ * static_cast<std::int64_t>(sizeof(Input<K>))};
    const ATile<K> tile = place(block, rows, terms);
    const std::int64_t row_stride = order() == AOrder::rows ? tile.stride : lanes_of<K>(terms.end - terms.begin);
    return {tile.first, row_stride * static_cast<std::int64_t>(sizeof(Lane<K>))};
  }

  /// Places for the smallest exponents of an A in place, one for each tile and chunk of `terms`; none elsewhere.
  [[nodiscard]] std::int64_t least_places(std::int64_t terms) const {
    if (source_ != ASource::in_place || kernels_.least_of_a == nullptr) return 0;
    return all_tiles_ * core::ceil_divide(terms, chunk_terms<K>);
  }
  /// Whether members fill a block before any of them reads it.
  [[nodiscard]] bool fills() const { return source_ == ASource::packed || source_ == ASource::copied; }
  /// This member's share of the block's copy.
  void fill(const ABlock<K>& block, const Member& member) const {
    if (source_ == ASource::packed) pack(block, part_of(tiles(block), member.count, member.id));
    if (source_ == ASource::copied) copy(block, member);
  }
  /// Whether single tiles of the next block may be packed while this one is read (a_share.hpp): of an A whose terms are
  /// neighbours.
  [[nodiscard]] bool packs_ahead() const { return source_ == ASource::packed && term_stride_ == 1; }
  /// Tiles `mine` of the block's copy.
  void pack(const ABlock<K>& block, Range mine) const;
  /// A tile where it lies in the operand, whose terms are neighbours.
  [[nodiscard]] const Input<K>* source(const ABlock<K>& block, Range rows, Range terms) const {
    return block.a + (block.rows.begin + rows.begin) * row_stride_ + terms.begin;
  }

 private:
  /// Found by the first member that asks, or by some at once: nobody waits for another.
  [[nodiscard]] std::int32_t least_of(const ABlock<K>& block, std::int64_t index, Range terms) const {
    const std::int64_t tile = block.rows.begin / mr_ + index;  // blocks begin at multiples of MR
    std::atomic<std::int32_t>& place = block.least[terms.begin / chunk_terms<K> * all_tiles_ + tile];
    if (const std::int32_t known = place.load(std::memory_order_relaxed); known != 0) return known - 1;
    const Range rows = row_tile(block, index);
    const std::int32_t found =
        kernels_.least_of_a(source(block, rows, terms), rows.end - rows.begin, row_stride_, terms.end - terms.begin);
    place.store(found + 1, std::memory_order_relaxed);
    return found;
  }
  /// A tile in the block's copy, or in the operand if there is none.
  [[nodiscard]] ATile<K> place(const ABlock<K>& block, Range rows, Range terms) const;
  void copy(const ABlock<K>& block, const Member& member) const;

  const MicroKernels<K>& kernels_;
  ASource source_;
  std::int64_t mr_;
  std::int64_t all_tiles_;  ///< of A
  std::int64_t row_stride_;
  std::int64_t term_stride_;
};

template <class K>
ATile<K> AReader<K>::place(const ABlock<K>& block, Range rows, Range terms) const {
  const std::int64_t height = block.rows.end - block.rows.begin;
  const std::int64_t before = terms.begin - block.terms.begin;
  const std::int64_t lanes = packed_lanes<K>(terms.end - terms.begin);
  if constexpr (reads_operands<K>)
    if (source_ == ASource::in_place) return {source(block, rows, terms), row_stride_, 0};
  if constexpr (in_tile_registers<K>)
    if (source_ == ASource::in_place)
      return {reinterpret_cast<const Lane<K>*>(source(block, rows, terms)), row_stride_ / Elements<K>::group, 0};
  if (source_ == ASource::copied)
    return {block.copy + (before / chunk_terms<K> * height + rows.begin) * copy_stride<K>, copy_stride<K>, 0};
  return {block.copy + packed_lanes<K>(before) * height + rows.begin * lanes, rows.end - rows.begin, 0};
}

/// Chunk after chunk, each as panels of MR rows. Where A's rows are neighbours, several panels together read whole
/// lines of it; more of them would push each other out of L1.
template <class K>
void AReader<K>::pack(const ABlock<K>& block, Range mine) const {
  const std::int64_t height = block.rows.end - block.rows.begin;
  const std::int64_t count = tiles(block);
  const Input<K>* from = block.a + block.rows.begin * row_stride_;
  constexpr std::int64_t together = 16;
  for (std::int64_t p = block.terms.begin; p < block.terms.end; p += chunk_terms<K>) {
    const std::int64_t terms = std::min(chunk_terms<K>, block.terms.end - p);
    Lane<K>* chunk = block.copy + packed_lanes<K>(p - block.terms.begin) * height;
    const auto pack_part = [&](Range part) {  // tiles of one height
      if (part.begin == part.end) return;
      const std::int64_t begin = part_of(height, count, part.begin).begin;
      const Range last = part_of(height, count, part.end - 1);
      kernels_.pack_a(from + begin * row_stride_ + p * term_stride_, row_stride_, term_stride_, last.end - begin,
                      last.end - last.begin, terms, chunk + begin * packed_lanes<K>(terms));
    };
    const std::int64_t taller = std::clamp(height % count, mine.begin, mine.end);
    for (std::int64_t t = mine.begin; t < taller; t += together) pack_part({t, std::min(t + together, taller)});
    for (std::int64_t t = taller; t < mine.end; t += together) pack_part({t, std::min(t + together, mine.end)});
  }
}

/// Chunk after chunk, each as rows of copy_stride elements.
template <class K>
void AReader<K>::copy(const ABlock<K>& block, const Member& member) const {
  const std::int64_t height = block.rows.end - block.rows.begin;
  const Range mine = part_of(height, member.count, member.id);
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    const Input<K>* row = block.a + (block.rows.begin + i) * row_stride_;
    Lane<K>* to = block.copy + i * copy_stride<K>;
    for (std::int64_t p = block.terms.begin; p < block.terms.end; p += chunk_terms<K>, to += height * copy_stride<K>) {
      const std::int64_t terms = std::min(chunk_terms<K>, block.terms.end - p);
      if constexpr (reads_operands<K>)
        std::copy_n(row + p, terms, to);
      else
        kernels_.copy_a(row + p, terms, to);
    }
  }
}

}  // namespace exactile::cpu
