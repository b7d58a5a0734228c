// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

/// CTAs of a cluster on all devices that have clusters; a GPC must have room for more.
inline constexpr int most_portable_cluster = 8;

/// CTAs of the largest cluster, each with an SM of its own, from compute capability 9.0 on: 16 on Hopper, unless the
/// device was asked, for which it needs a context, and no GPC has as many SMs.
[[nodiscard]] int most_cluster(const Device& device);

/// Allows launches of `function` in clusters of so many CTAs on the current device. Asks the runtime once for each
/// function and device.
[[nodiscard]] Status allow_clusters(const void* function, int ctas, std::string_view kernel);

template <class... Parameters>
[[nodiscard]] Status allow_clusters(void (*function)(Parameters...), int ctas, std::string_view kernel) {
  return allow_clusters(reinterpret_cast<const void*>(function), ctas, kernel);
}

}  // namespace exactile::cuda
