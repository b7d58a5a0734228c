// SPDX-License-Identifier: Apache-2.0
// `simt_f64`: f64 on the CUDA cores, for devices without FP64 tensor cores.
#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/simt/product.cuh"

namespace exactile::cuda {
namespace {

constexpr std::array types{GemmTypes{ElementType::f64, ElementType::f64}};
constexpr std::string_view name = "simt_f64";
using Tile64x64 = simt::Shape<double, double, 64, 64, 16, 4, 4, 4, 3, 2>;

}  // namespace

const Kernel simt_f64 = simt::kernel_of<name, Tile64x64>(types, "f64 on CUDA cores, 4 x 4 a thread");

}  // namespace exactile::cuda
