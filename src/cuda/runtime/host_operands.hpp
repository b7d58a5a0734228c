// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernel.hpp"
#include "staging/stager.hpp"

namespace exactile::cuda {

/// What moves operands between host memory and that device; made when first asked for, kept for the process's life.
[[nodiscard]] staging::Stager& stager_of(const Device& device);

/// Whether all of that host memory is pinned.
[[nodiscard]] bool is_pinned(const void* memory, std::int64_t bytes, int device);

}  // namespace exactile::cuda
