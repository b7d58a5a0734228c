// SPDX-License-Identifier: Apache-2.0
/// \file
/// The other ceiling beside the peak of the arithmetic: how fast memory can be read.
#pragma once

#include "exactile/context.hpp"

namespace exactile::measure {

/// Bytes per second that `threads` threads read together from memory beyond the caches, each its own 64 MiB: the best
/// of several passes, because a ceiling is what nothing disturbed. Takes some tenths of a second.
[[nodiscard]] double read_bandwidth(int threads);

/// Bytes per second at which a device fills its own memory, by its clock: the best of several passes over more than its
/// caches hold. Fails as Context does.
[[nodiscard]] Result<double> fill_bandwidth(const Context& context);

}  // namespace exactile::measure
