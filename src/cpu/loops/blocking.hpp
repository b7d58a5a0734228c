// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cpu/micro/tile.hpp"

namespace exactile::cpu {

/// Sizes of the cache blocks; see packed.hpp for the loops they belong to.
struct Blocking {
  std::int64_t mr;
  std::int64_t nr;
  std::int64_t mc;
  std::int64_t kc;
  std::int64_t nc;
  std::string source = {};  ///< where they come from if not from the model

  [[nodiscard]] std::string text() const;
};

/// A thread's block of B takes half of its L2. KC: one chunk of terms (see chunk_terms), so that A comes past for as
/// many columns as a block of B can have. Tile registers multiply faster than C comes and goes: there as many whole
/// chunks as let least bytes pass by, where a term brings an element of A for each NC columns, and each KC terms C
/// twice; but one chunk where a thread's C waits in L1. NC: what KC leaves, and what is left of the last panel. MC: all
/// rows where A is read where it lies; where it is copied or packed each of the two buffers takes at most a quarter of
/// L3 and at most 12 MiB, so that scratch stays small on processors with huge caches.
struct BlockedTile {
  int rows;
  int columns;
  std::int64_t element_size;  ///< of a packed term
  std::int64_t sum_size;
  std::int64_t chunk;  ///< terms; a KC is a multiple of it
  bool in_tile_registers;
};
[[nodiscard]] Blocking blocking_for(const BlockedTile& tile, std::int64_t m, std::int64_t n, std::int64_t k,
                                    bool a_is_packed, int threads);

}  // namespace exactile::cpu
