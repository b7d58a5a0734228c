// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "plan/kernel_entry.hpp"

namespace exactile::plan {

/// Operations per second that `exactile tune` has measured of the kernel, on this device and driver, for products like
/// this one. Nothing where it has not, and where the product is unlike any that it measures: operands in host memory or
/// not row by row, a batch, scales, a bias or activation, another accuracy, too small or too shallow, or its shorter
/// side more than a factor of two away from the measured one.
[[nodiscard]] std::optional<double> measured_rate(const KernelEntry& entry, const Problem& problem);

}  // namespace exactile::plan
