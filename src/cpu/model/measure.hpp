// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/tuning.hpp"

namespace exactile::cpu {

/// exactile::measure_device() for this backend. Every fifth product is not fitted to, and is what the choices are
/// judged by: among kernels with as many threads as the product was drawn with.
[[nodiscard]] Result<Measurements> measure(const Measuring& measuring);

}  // namespace exactile::cpu
