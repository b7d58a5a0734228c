// SPDX-License-Identifier: Apache-2.0
/// \file
/// `opencl_certified`: compensated and correctly_rounded for f32 and narrower floats, real and complex. Sums of f64 by
/// the panels of opencl_packed, rounded where their bound leaves no doubt, else summed again without an error. See
/// docs/accuracy.md.
#pragma once

#include "opencl/kernel.hpp"

namespace exactile::opencl {

extern const Kernel certified;

}  // namespace exactile::opencl
