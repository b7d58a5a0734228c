// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "exactile/status.hpp"

namespace exactile::cuda::model {

/// Enqueues a read of so much memory (16-byte aligned): L2 then holds nothing older, and nothing to write back.
[[nodiscard]] Status read_through(const std::byte* data, std::int64_t bytes, cudaStream_t stream);

}  // namespace exactile::cuda::model
