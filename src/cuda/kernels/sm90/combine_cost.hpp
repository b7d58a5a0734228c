// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda::sm90 {

/// Seconds that it takes to add the sums of parts of K (combine.hpp).
[[nodiscard]] double combine_seconds(const GemmDescription& description, int parts, const Device& device);

}  // namespace exactile::cuda::sm90
