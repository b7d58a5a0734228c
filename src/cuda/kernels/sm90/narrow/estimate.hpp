// SPDX-License-Identifier: Apache-2.0
/// \file
/// How long a layout is expected to take, by what was measured on an H200.
#pragma once

#include "cuda/kernels/sm90/narrow/plan.hpp"

namespace exactile::cuda::sm90::narrow {

inline constexpr double row_bytes = 128;  ///< of K in a block

/// Work for a cluster at a time: tiles of all products and chunks.
[[nodiscard]] double clusters_of(const GemmDescription& description, TileShape tile, ClusterShape cluster,
                                 std::int64_t chunks);

/// Of the product and of all that comes before and after it: operands laid out anew, chunks added.
[[nodiscard]] double estimated_seconds(const Layout& layout, const Device& device);

}  // namespace exactile::cuda::sm90::narrow
