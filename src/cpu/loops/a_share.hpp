// SPDX-License-Identifier: Apache-2.0
/// \file A member's share of the block of A that its team reads in the next step, packed between the row tiles of this
/// one.
#pragma once

#include <cstdint>

#include "core/checked.hpp"
#include "cpu/loops/a_block.hpp"
#include "cpu/loops/blocking.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/micro/tile.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {

/// Members that pack together before they meet wait for memory together: of 16 on 16 cores, each 7 to 8 % of f64
/// 4096 x 4096 x 1024. Here the micro-kernel, where it has no row of its next tile to ask for, asks for a tile of the
/// share, which is then packed from L2 while others multiply. Blocks of few columns leave nothing for it to ask with;
/// then, as without this, all is packed before the members meet.
template <class K>
class AShare {
 public:
  AShare() = default;
  /// `pause`: row tiles between two that are packed.
  AShare(const AReader<K>& reader, const ABlock<K>& block, const Member& member, std::int64_t pause)
      : reader_(&reader), block_(block), left_(part_of(reader.tiles(block), member.count, member.id)), pause_(pause) {}

  [[nodiscard]] bool exists() const { return reader_ != nullptr; }

  /// A chunk of a row of the tile to be packed next, which nobody asked for yet; null while there is none.
  [[nodiscard]] const Input<K>* ask() {
    if (left_.begin == left_.end || rested_ < pause_ || asked_ == requests()) return nullptr;
    const Range rows = reader_->row_tile(block_, left_.begin);
    const std::int64_t height = rows.end - rows.begin;
    const Range row{rows.begin + asked_ % height, rows.end};
    const Range terms{block_.terms.begin + asked_ / height * chunk_terms<K>, block_.terms.end};
    ++asked_;
    return reader_->source(block_, row, terms);
  }

  /// After each row tile that is multiplied: packs one that has been asked for.
  void continue_packing() {
    ++rested_;
    if (asked_ == 0 || asked_ < requests()) return;
    reader_->pack(block_, {left_.begin, left_.begin + 1});
    ++left_.begin;
    asked_ = 0;
    rested_ = 0;
  }

  /// Packs what is left, before the team meets.
  void finish() { reader_->pack(block_, left_); }

 private:
  [[nodiscard]] std::int64_t requests() const {
    const Range rows = reader_->row_tile(block_, left_.begin);
    return (rows.end - rows.begin) * core::ceil_divide(block_.terms.end - block_.terms.begin, chunk_terms<K>);
  }

  const AReader<K>* reader_ = nullptr;
  ABlock<K> block_ = {};
  Range left_ = {};
  std::int64_t pause_ = 0;
  std::int64_t rested_ = 0;
  std::int64_t asked_ = 0;  ///< of requests() for the first tile left
};

}  // namespace exactile::cpu
