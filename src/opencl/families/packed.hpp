// SPDX-License-Identifier: Apache-2.0
/// \file
/// `opencl_packed`: both operands are copied into panels, then the tunable kernel runs without borders in its loop. See
/// docs/design/opencl.md.
#pragma once

#include "opencl/kernel.hpp"

namespace exactile::opencl {

extern const Kernel packed;

}  // namespace exactile::opencl
