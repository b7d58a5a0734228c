// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cuda/device.hpp"
#include "plan/grouped.hpp"

namespace exactile::cuda {

/// A grouped product on a device of compute capability 9.0, or why its kernels cannot do it.
[[nodiscard]] Result<std::unique_ptr<plan::GroupedExecutable>> make_grouped(const GroupedDescription& description,
                                                                            const GemmOptions& options,
                                                                            const Device& device);

}  // namespace exactile::cuda
