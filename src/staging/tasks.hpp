// SPDX-License-Identifier: Apache-2.0
/// \file
/// A schedule written out as what threads do: fill a piece of the ring and enqueue its upload, enqueue a kernel,
/// enqueue a download, drain a piece of the ring. Pure data.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "staging/schedule.hpp"

namespace exactile::staging {

/// How each operand moves in this run.
struct Movement {
  std::array<bool, sides> directly{};   ///< the device copies it from or to where it is; else it goes through the ring
  std::array<bool, sides> with_tile{};  ///< goes up with each tile of C: C itself where it is read, and vectors
  std::int64_t chunk_bytes = 2 << 20;
  int threads = 1;            ///< worth having for what goes through the rings
  std::int64_t up_slots = 0;  ///< of the rings, chunk_bytes each
  std::int64_t down_slots = 0;
};

struct Task {
  enum class Kind : std::uint8_t { upload, compute, download, drain };
  Kind kind;
  Side side = Side::a;
  std::int64_t step = 0;
  std::int64_t chunk = 0;
  std::int64_t ticket = -1;  ///< counts what goes through a ring; -1: directly
};

/// Threads take tasks in this order, and every task waits for earlier ones only. So any number of threads makes
/// progress, one included: a lone thread never meets a wait for something it would have to do itself.
struct TaskList {
  std::vector<Task> tasks;
  std::vector<std::array<std::int64_t, sides>> uploads;  ///< by step: tasks that move each side's panel
  std::vector<std::int64_t> downloads;                   ///< by step: tasks that fetch its tile
};

/// The region of a side that a step needs; vectors lie along a side of the tile.
[[nodiscard]] Region region_of(const HostProduct& product, const Tiling& tiling, const Step& step, Side side);

[[nodiscard]] TaskList make_tasks(const HostProduct& product, const Tiling& tiling, const std::vector<Step>& schedule,
                                  const Movement& movement);

}  // namespace exactile::staging
