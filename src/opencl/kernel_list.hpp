// SPDX-License-Identifier: Apache-2.0
/// \file THE list of the OpenCL kernels, in order of preference.
#pragma once

#include "plan/kernel_entry.hpp"

namespace exactile::opencl {

[[nodiscard]] std::span<const plan::KernelEntry> kernel_list();

}  // namespace exactile::opencl
