// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace exactile::cpu {

/// Page-aligned memory of at least `bytes` that belongs to the calling thread until its next call; null if there is
/// none. Kept between calls, so that a product does not pay for fresh pages each time.
[[nodiscard]] void* thread_scratch(std::int64_t bytes);

}  // namespace exactile::cpu
