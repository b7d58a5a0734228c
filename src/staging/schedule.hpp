// SPDX-License-Identifier: Apache-2.0
/// \file
/// In which order tiles are computed and panels moved. Pure data: made before the first byte moves.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "staging/tiling.hpp"

namespace exactile::staging {

inline constexpr int compute_queues = 2;  ///< so that the next tile fills the device while the last one runs out

/// Steps, by number, after which a slot may be overwritten: the last one on each compute queue; -1 for none.
using After = std::array<std::int64_t, compute_queues>;

/// Where a step's panel is.
struct PanelUse {
  std::int64_t slot = 0;
  std::int64_t loaded_by = 0;  ///< the step before which it is moved; this step's own number: now
  After after{-1, -1};         ///< for a panel moved now: what the slot must wait for
};

/// One run of the kernel: tile (i, j) of a group, chunk k of the sum.
struct Step {
  std::int64_t group = 0;
  std::int64_t i = 0;
  std::int64_t j = 0;
  std::int64_t k = 0;
  PanelUse a;
  PanelUse b;
  std::int64_t c_slot = 0;
  std::int64_t c_before = -1;  ///< the last step of the tile that had the slot of C before
  int queue = 0;
  bool starts_tile = true;
  bool ends_tile = true;

  /// What comes and goes with C has C's slot.
  [[nodiscard]] std::int64_t slot(Side side) const {
    switch (side) {
      case Side::a: return a.slot;
      case Side::b: return b.slot;
      default: return c_slot;
    }
  }
};

/// Every tile once, chunks of K in ascending order. Panels arrive so that each enables as many tiles as possible: a
/// growing square first, then panel by panel; the next band goes the other way along the side that streams.
[[nodiscard]] std::vector<Step> make_schedule(const HostProduct& product, const Tiling& tiling);

/// Panels of A and of B that move, counted with repetition.
struct Moves {
  std::int64_t a = 0;
  std::int64_t b = 0;
};
[[nodiscard]] Moves count_moves(const std::vector<Step>& schedule);

}  // namespace exactile::staging
