// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products whose operands lie in host memory while a device computes. A backend gives its device and its kernel; what
/// comes back is an Executable for host operands that moves tiles, overlapped with the kernel's work on them.
///
/// The kernel only ever sees whole sums in device memory (K is cut where a single panel is larger than the device, and
/// then in ascending order), so a kernel whose sums do not depend on m, n and the batch gives the same bits as it would
/// on the whole product in device memory.
#pragma once

#include <memory>
#include <string_view>

#include "plan/host_link.hpp"
#include "plan/kernel_entry.hpp"
#include "staging/stager.hpp"
#include "staging/tiling.hpp"

namespace exactile::staging {

/// A kernel for operands in device memory, as a backend's KernelEntry has it.
struct DeviceKernel {
  std::string_view (*refuses)(const plan::Problem&);
  std::unique_ptr<plan::Executable> (*prepare)(const plan::Problem&);
};

/// The problem as the device will see it: the same product with lines at an aligned pitch, in device memory. What a
/// kernel thinks of a problem in host memory is what it thinks of this one.
[[nodiscard]] plan::Problem on_device(const plan::Problem& problem);

/// Why no device could take such operands, whatever the kernel; empty if one could. To be asked before on_device().
[[nodiscard]] std::string_view why_not(const plan::Problem& problem);

/// Estimated seconds: the kernel's, overlapped with moving each operand once.
[[nodiscard]] double cost(const plan::Problem& problem, double kernel_seconds, const plan::HostLink& link);

/// Null where memory ran out. The stager lives as long as the process; `limits` are for tests.
[[nodiscard]] std::unique_ptr<plan::Executable> prepare(const plan::Problem& problem, Stager& stager,
                                                        const DeviceKernel& kernel, const Limits& limits = {});

}  // namespace exactile::staging
