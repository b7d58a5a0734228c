// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the packed loops hand inwards, from step to block of columns to row tile.
#pragma once

#include <atomic>

#include "cpu/loops/a_block.hpp"
#include "cpu/loops/a_share.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"

namespace exactile::cpu {

/// One step of the ic and pc loops: which part of the product, and how C is updated.
template <class K>
struct LoopStep {
  Operands<K> data;
  ABlock<K> a;
  Sum<K> beta;
  std::atomic<std::int64_t>* next_tile;  ///< of each block of C: the first row tile nobody has taken
  const GemmArguments& arguments;        ///< of the whole batch
  std::int64_t product;                  ///< of the batch
};

/// A row tile, and the one that comes after it.
struct TileAndNext {
  std::int64_t index;
  std::int64_t next;
};

/// Columns of one step, and some of its row tiles, with this thread's room for its part of B and for a tile of A.
template <class K>
struct BlockOfC {
  std::int64_t index;
  Range tiles;
  std::int64_t start;  ///< the tile that is taken first
  Range panels;
  Range columns;  ///< up to the end of their last vector
  Lane<K>* packed_b;
  Lane<K>* packed_tile;
  Sum<K>* sums;      ///< room for those of a row tile where C does not take them
  AShare<K>* share;  ///< of the next step's A
  bool is_first;     ///< of this thread's blocks in this step
};

/// A row tile's chunk of terms, and the tile of A to ask for while it is multiplied.
template <class K>
struct RowTile {
  int height;
  std::int64_t terms;
  Sum<K> beta;
  ATile<K> a;
  const Input<K>* b;  ///< the operand's chunk
  Lane<K>* packed_b;  ///< the block's
  Sum<K>* c;          ///< the tile's rows
  TileBytes next;
  Parts next_rows;  ///< one part for each panel
};

}  // namespace exactile::cpu
