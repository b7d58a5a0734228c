// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scales of rows and columns around kernels that know none: the kernel leaves its sums in a workspace, and a second
/// kernel reads them and does all that follows the sums. That costs two passes over an m x n matrix of sums.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

/// Why `kernel` cannot leave the sums of the problem, which has scales; empty if it can.
[[nodiscard]] std::string_view scaled_refuses(const Kernel& kernel, const plan::Problem& problem, const Device& device);

/// Why the device has no room for those sums; empty if it has. Asked of a whole product in device memory, or of each
/// tile that staging makes of one in host memory.
[[nodiscard]] std::string_view no_room_for_sums(const plan::Problem& problem, const Device& device);

/// Of both kernels.
[[nodiscard]] std::vector<Candidate> scaled_candidates(const Kernel& kernel, const plan::Problem& problem,
                                                       const Device& device);

/// Enqueues what follows sums that lie in a workspace, of any floating type: C <- activation(alpha * scaled sums + beta
/// * C + bias). `is_transposed`: the rows of `d` are the caller's columns, whose factor comes second.
[[nodiscard]] Status finish_sums(const GemmDescription& d, const GemmArguments& arguments, const void* sums,
                                 const OperandLayout& sums_layout, bool is_transposed, cudaStream_t stream);

[[nodiscard]] std::unique_ptr<DeviceProduct> make_scaled(const Kernel& kernel, const plan::Problem& problem,
                                                         const Device& device, const Configuration& configuration);

}  // namespace exactile::cuda
