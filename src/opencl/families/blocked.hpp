// SPDX-License-Identifier: Apache-2.0
/// \file
/// Register blocking on operands where they lie: the ladder's `opencl_register_blocked`, `opencl_padded` and
/// `opencl_prefetch`, one change each; `opencl_direct`, the same with tuned sizes and every type; and `opencl_deep`,
/// which gives chunks of K to work-groups of their own. See docs/design/opencl.md.
#pragma once

#include "opencl/kernel.hpp"

namespace exactile::opencl {

extern const Kernel register_blocked;
extern const Kernel padded;
extern const Kernel prefetch;
extern const Kernel direct;
extern const Kernel deep;

}  // namespace exactile::opencl
