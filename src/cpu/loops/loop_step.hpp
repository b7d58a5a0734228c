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
template <class T>
struct LoopStep {
  Operands<T> data;
  ABlock<T> a;
  T beta;
  std::atomic<std::int64_t>* next_tile;  ///< of each block of columns: the first row tile nobody has taken
};

/// A block of columns of one step, with this thread's room for its part of B and for a tile of A.
template <class T>
struct ColumnBlock {
  Range panels;
  Range columns;  ///< up to the end of their last vector
  T* packed_b;
  T* packed_tile;
  AShare<T>* share;  ///< of the next step's A
  bool is_first;     ///< of this thread's blocks in this step
};

/// A row tile's chunk of terms, and the tile of A to ask for while it is multiplied.
template <class T>
struct RowTile {
  int height;
  std::int64_t k;
  T beta;
  ATile<T> a;
  const T* b;   ///< the operand's chunk
  T* packed_b;  ///< the block's
  T* c;         ///< the tile's rows
  ATile<T> next;
  Parts next_rows;  ///< one part for each panel
};

}  // namespace exactile::cpu
