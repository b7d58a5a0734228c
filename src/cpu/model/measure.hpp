// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/tuning.hpp"

namespace exactile::cpu {

/// exactile::measure_device() for this backend. Every fifth product is not fitted to, and is what the choices are
/// judged by. Half of the products have all threads, and half of these as of the others operands from memory.
[[nodiscard]] Result<Measurements> measure(const Measuring& measuring);

}  // namespace exactile::cpu
