// SPDX-License-Identifier: Apache-2.0
/// \file
/// f64 products on the FP64 tensor cores.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel sm80_f64_mma;
extern const Kernel sm90_f64_mma;
/// Their products with chunks of so many of K, a multiple of 32, which are summed and added as those of 1024 are.
[[nodiscard]] std::unique_ptr<DeviceProduct> make_sm80_f64(const plan::Problem& problem, const Device& device,
                                                           const Configuration& configuration, std::int64_t k_of_chunk);
[[nodiscard]] std::unique_ptr<DeviceProduct> make_sm90_f64(const plan::Problem& problem, const Device& device,
                                                           const Configuration& configuration, std::int64_t k_of_chunk);
/// No kernel of the list: times a B of k / 2 x n / 2 complex numbers, contiguous along N and within reach of TMA, whose
/// layout has their row stride in units of f64. Each stands for the real numbers of kernels/complex/real_form.hpp, with
/// the conjugates that the layouts say.
extern const Kernel sm90_f64_by_complex_mma;

}  // namespace exactile::cuda
