// SPDX-License-Identifier: Apache-2.0
/// \file An H200 as the runtime describes one, for estimates that are tested without it.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

inline constexpr Device h200{.index = 0,
                             .compute_capability = 90,
                             .sm_count = 132,
                             .shared_bytes_per_block = 227 << 10,
                             .l2_bytes = 60 << 20,
                             .memory_bytes = std::int64_t{139} << 30,
                             .clock_hertz = 1.98e9,
                             .memory_bytes_per_second = 4.8e12};

}  // namespace exactile::cuda
