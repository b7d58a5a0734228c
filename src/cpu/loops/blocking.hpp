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

  [[nodiscard]] std::string text() const;
};

/// KC is fixed (`chunk`, see chunk_terms). NC: a thread's block of B takes three quarters of its L2. MC: each of the
/// two buffers of A takes at most a quarter of L3 and at most 12 MiB, so that scratch stays small on processors with
/// huge caches.
[[nodiscard]] Blocking blocking_for(int rows, int columns, std::int64_t element_size, std::int64_t chunk,
                                    std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace exactile::cpu
