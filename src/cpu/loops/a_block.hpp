// SPDX-License-Identifier: Apache-2.0
/// \file How the packed loops read A.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/loops/blocking.hpp"
#include "cpu/loops/partition.hpp"
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
template <class T>
inline constexpr std::int64_t copy_stride = chunk_terms<T> + 64 / static_cast<std::int64_t>(sizeof(T));

/// Whether packing a tile of A pays as often as it is read: one thread packs it with the first block of columns, and
/// reads it again for a third of that. Where each of a few blocks has a thread, all packing together first and waiting
/// for each other costs as much as it saves.
[[nodiscard]] inline ASource packed_source_of(int threads, std::int64_t column_blocks) {
  constexpr std::int64_t least_shared = 4;
  if (threads == 1 && column_blocks > 1) return ASource::packed_with_first;
  return column_blocks >= least_shared ? ASource::packed : ASource::packed_by_tile;
}

/// A whose terms are not neighbours is packed. One that is read often from behind L2 is worth a copy: its rows lie on
/// a page or more each, more pages than a processor finds the addresses of without a walk through their tables.
template <class T>
[[nodiscard]] ASource a_source_of(const Orientation& o, const LoopTile& tile, int threads, std::int64_t column_blocks) {
  constexpr double least_copied_bytes = 4 << 20;
  constexpr std::int64_t least_copied_columns = 1024;
  if (o.a.column_stride != 1 && o.k != 1) return ASource::packed;
  if (tile.packs_a) return packed_source_of(threads, column_blocks);
  const double bytes = static_cast<double>(sizeof(T)) * static_cast<double>(o.m) * static_cast<double>(o.k);
  return bytes >= least_copied_bytes && o.n >= least_copied_columns ? ASource::copied : ASource::in_place;
}

/// The part of A that one step of the ic and pc loops reads.
template <class T>
struct ABlock {
  const T* a;  ///< the operand's first element
  Range rows;
  Range terms;
  T* copy;  ///< room for AReader::elements()
};

/// Whether a block of A has a copy, in panels or not.
[[nodiscard]] inline bool has_copy(ASource source) {
  return source == ASource::copied || source == ASource::packed || source == ASource::packed_with_first;
}

/// A row tile's chunk of terms.
template <class T>
struct ATile {
  const T* first;
  std::int64_t stride;      ///< as in TileShape
  std::int64_t row_stride;  ///< from one row's terms to the next one's; of a packed tile, any equal parts of it
};

template <class T>
class AReader {
 public:
  AReader(const Orientation& o, const MicroKernels<T>& kernels, ASource source, std::int64_t mr)
      : kernels_(kernels), source_(source), mr_(mr), row_stride_(o.a.row_stride), term_stride_(o.a.column_stride) {}

  [[nodiscard]] ASource source() const { return source_; }
  [[nodiscard]] AOrder order() const {
    return source_ == ASource::in_place || source_ == ASource::copied ? AOrder::rows : AOrder::columns;
  }
  /// Of the largest block's copy; none where A is read in place.
  [[nodiscard]] std::int64_t elements(const Blocking& blocking) const {
    const std::int64_t chunks = core::ceil_divide(blocking.kc, chunk_terms<T>);
    switch (source_) {
      case ASource::packed:
      case ASource::packed_with_first: return blocking.mc * blocking.kc;
      case ASource::copied: return blocking.mc * chunks * copy_stride<T>;
      case ASource::in_place:
      case ASource::packed_by_tile: break;
    }
    return 0;
  }
  /// Of the one tile that each thread packs for itself; none where A is read otherwise.
  [[nodiscard]] std::int64_t tile_elements() const {
    return source_ == ASource::packed_by_tile ? mr_ * chunk_terms<T> : 0;
  }

  [[nodiscard]] std::int64_t tiles(const ABlock<T>& block) const {
    return core::ceil_divide(block.rows.end - block.rows.begin, mr_);
  }
  /// Rows of tile `index`, counted from the block's first.
  [[nodiscard]] Range row_tile(const ABlock<T>& block, std::int64_t index) const {
    return part_of(block.rows.end - block.rows.begin, tiles(block), index);
  }
  /// A tile as the micro-kernel reads it; `room` for tile_elements(), `first` for the first block of columns.
  [[nodiscard]] ATile<T> tile(const ABlock<T>& block, Range rows, Range terms, T* room, bool first) const {
    const bool by_tile = source_ == ASource::packed_by_tile;
    const bool packs = by_tile || (source_ == ASource::packed_with_first && first);
    const std::int64_t height = rows.end - rows.begin;
    const ATile<T> tile = by_tile ? ATile<T>{room, height, 0} : place(block, rows, terms);
    if (packs)
      kernels_.pack(source(block, rows, terms), row_stride_, 1, height, height, terms.end - terms.begin,
                    const_cast<T*>(tile.first));
    return tile;
  }
  /// Where the bytes of that tile are when its turn comes, to be asked for ahead.
  [[nodiscard]] ATile<T> coming(const ABlock<T>& block, Range rows, Range terms, bool first) const {
    const bool is_unpacked = source_ == ASource::packed_by_tile || (source_ == ASource::packed_with_first && first);
    return is_unpacked ? ATile<T>{source(block, rows, terms), row_stride_, row_stride_} : place(block, rows, terms);
  }

  /// This member's share of the block's copy.
  void fill(const ABlock<T>& block, const Member& member) const {
    if (source_ == ASource::packed) pack(block, part_of(tiles(block), member.count, member.id));
    if (source_ == ASource::copied) copy(block, member);
  }
  /// Whether single tiles of the next block may be packed while this one is read (a_share.hpp): of an A whose terms are
  /// neighbours.
  [[nodiscard]] bool packs_ahead() const { return source_ == ASource::packed && term_stride_ == 1; }
  /// Tiles `mine` of the block's copy.
  void pack(const ABlock<T>& block, Range mine) const;
  /// A tile where it lies in the operand, whose terms are neighbours.
  [[nodiscard]] const T* source(const ABlock<T>& block, Range rows, Range terms) const {
    return block.a + (block.rows.begin + rows.begin) * row_stride_ + terms.begin;
  }

 private:
  /// A tile in the block's copy, or in the operand if there is none.
  [[nodiscard]] ATile<T> place(const ABlock<T>& block, Range rows, Range terms) const;
  void copy(const ABlock<T>& block, const Member& member) const;

  const MicroKernels<T>& kernels_;
  ASource source_;
  std::int64_t mr_;
  std::int64_t row_stride_;
  std::int64_t term_stride_;
};

template <class T>
ATile<T> AReader<T>::place(const ABlock<T>& block, Range rows, Range terms) const {
  const std::int64_t height = block.rows.end - block.rows.begin;
  const std::int64_t before = terms.begin - block.terms.begin;
  const std::int64_t k = terms.end - terms.begin;
  switch (source_) {
    case ASource::packed:
    case ASource::packed_with_first: return {block.copy + before * height + rows.begin * k, rows.end - rows.begin, k};
    case ASource::copied:
      return {block.copy + (before / chunk_terms<T> * height + rows.begin) * copy_stride<T>, copy_stride<T>,
              copy_stride<T>};
    case ASource::in_place:
    case ASource::packed_by_tile: break;
  }
  return {source(block, rows, terms), row_stride_, row_stride_};
}

/// Chunk after chunk, each as panels of MR rows. Where A's rows are neighbours, several panels together read whole
/// lines of it; more of them would push each other out of L1.
template <class T>
void AReader<T>::pack(const ABlock<T>& block, Range mine) const {
  const std::int64_t height = block.rows.end - block.rows.begin;
  const std::int64_t count = tiles(block);
  const T* from = block.a + block.rows.begin * row_stride_;
  constexpr std::int64_t together = 16;
  for (std::int64_t p = block.terms.begin; p < block.terms.end; p += chunk_terms<T>) {
    const std::int64_t terms = std::min(chunk_terms<T>, block.terms.end - p);
    T* chunk = block.copy + (p - block.terms.begin) * height;
    const auto pack_part = [&](Range part) {  // tiles of one height
      if (part.begin == part.end) return;
      const std::int64_t begin = part_of(height, count, part.begin).begin;
      const Range last = part_of(height, count, part.end - 1);
      kernels_.pack(from + begin * row_stride_ + p * term_stride_, row_stride_, term_stride_, last.end - begin,
                    last.end - last.begin, terms, chunk + begin * terms);
    };
    const std::int64_t taller = std::clamp(height % count, mine.begin, mine.end);
    for (std::int64_t t = mine.begin; t < taller; t += together) pack_part({t, std::min(t + together, taller)});
    for (std::int64_t t = taller; t < mine.end; t += together) pack_part({t, std::min(t + together, mine.end)});
  }
}

/// Chunk after chunk, each as rows of copy_stride elements.
template <class T>
void AReader<T>::copy(const ABlock<T>& block, const Member& member) const {
  const std::int64_t height = block.rows.end - block.rows.begin;
  const Range mine = part_of(height, member.count, member.id);
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    const T* row = block.a + (block.rows.begin + i) * row_stride_;
    T* to = block.copy + i * copy_stride<T>;
    for (std::int64_t p = block.terms.begin; p < block.terms.end; p += chunk_terms<T>, to += height * copy_stride<T>)
      std::copy_n(row + p, std::min(chunk_terms<T>, block.terms.end - p), to);
  }
}

}  // namespace exactile::cpu
