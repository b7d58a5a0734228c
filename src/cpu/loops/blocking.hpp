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

/// KC: one chunk of terms (see chunk_terms), so that A comes past for as many columns as a block of B can have. NC: a
/// thread's block of B takes half of its L2, and what is left of its last panel. MC: all rows where A is read where it
/// lies; where it is copied or packed each of the two buffers takes at most a quarter of L3 and at most 12 MiB, so that
/// scratch stays small on processors with huge caches.
[[nodiscard]] Blocking blocking_for(int rows, int columns, std::int64_t element_size, std::int64_t chunk,
                                    std::int64_t m, std::int64_t n, std::int64_t k, bool a_is_packed);

}  // namespace exactile::cpu
