// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "opencl/kernel.hpp"

namespace exactile::opencl {

/// Adds, in their order, the sums of `slices` chunks that lie behind each other in `partial`, each of all elements of
/// the batch, and writes C. With no slices: C <- activation(beta * C + bias), where alpha is 0.
[[nodiscard]] Status enqueue_reduce(const Launch& launch, const GemmDescription& description, std::int64_t slices,
                                    cl_mem partial);

}  // namespace exactile::opencl
