// SPDX-License-Identifier: Apache-2.0
// `simt_f64_64x64`: f64 on the plain arithmetic units, for devices without FP64 tensor cores.
#include <array>

#include "cuda/kernels/simt/product.cuh"
#include "cuda/kernels/simt/simt_kernels.hpp"

namespace exactile::cuda {
namespace {

constexpr std::array types_f64{GemmTypes{ElementType::f64, ElementType::f64}};

using F64Tile64x64 = simt::Shape<double, double, 64, 64, 16, 4, 4, 4, 3, 2>;
constexpr std::string_view name_f64_64x64 = "simt_f64_64x64";
constexpr simt::TileCost cost_f64_64x64 = simt::tile_cost<F64Tile64x64>(140, 110);

}  // namespace

const Kernel simt_f64_64x64 =
    simt::kernel_of<F64Tile64x64, cost_f64_64x64, name_f64_64x64>(types_f64, "tiles of 64 x 64, 4 x 4 a thread");

}  // namespace exactile::cuda
