// SPDX-License-Identifier: Apache-2.0
/// \file The kernel of `cuda_row_shared_kahan`, which `cuda_row_shared_kahan_pitched` runs on copies.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

/// f32; the description's and the arguments' operands in device memory. `kernel` is named in errors.
[[nodiscard]] Status launch_row_shared_kahan(const GemmDescription& description, const GemmArguments& arguments,
                                             cudaStream_t stream, std::string_view kernel);

/// Traffic model: each row of A once, all of B for each row.
[[nodiscard]] double row_shared_bytes(const GemmDescription& description);

/// "threads=256 piece=1000"
[[nodiscard]] std::string row_shared_blocking(const GemmDescription& description);

}  // namespace exactile::cuda
