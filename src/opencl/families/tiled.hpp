// SPDX-License-Identifier: Apache-2.0
/// \file
/// The first steps of the ladder: `opencl_tiled`, `opencl_tiled_kahan`, `opencl_vectors`. See docs/design/opencl.md.
#pragma once

#include "opencl/kernel.hpp"

namespace exactile::opencl {

extern const Kernel tiled;
extern const Kernel tiled_kahan;
extern const Kernel vectors;

}  // namespace exactile::opencl
