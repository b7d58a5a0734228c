// SPDX-License-Identifier: Apache-2.0
/// \file
/// A call on its operands as something that a stopwatch can take: by the host's clock, or by that of the device that
/// holds the operands.
#pragma once

#include <cstdint>

#include "comparison/operands.hpp"
#include "measure/rounds.hpp"

namespace exactile::comparison {

/// Calls rotate through the sets, beginning with `first_set`. `call` and `sets` must live as long as the series.
/// Lanes of one comparison begin far apart: who reads what another has just read finds it in a cache.
[[nodiscard]] measure::Series series_of(const Call& call, const OperandSets& sets, std::int64_t first_set = 0);

/// What a group of calls must last by the clock that times operands of this context; null is the host's. A device's
/// queue runs dry at either end of a group; one that is timed for less than 30 ms is asked for no more than a third.
[[nodiscard]] double shortest_group_seconds(const Context* context, double seconds);

}  // namespace exactile::comparison
