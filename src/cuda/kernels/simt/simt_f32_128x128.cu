// SPDX-License-Identifier: Apache-2.0
// `simt_f32_128x128`: large products of f32.
#include <array>

#include "cuda/kernels/simt/product.cuh"
#include "cuda/kernels/simt/simt_kernels.hpp"

namespace exactile::cuda {
namespace {

using Tile = simt::Shape<float, float, 128, 128, 8, 8, 8, 4, 4, 2>;
constexpr std::string_view name = "simt_f32_128x128";
constexpr simt::TileCost cost = simt::tile_cost<Tile>(160, 150);
constexpr std::array types{GemmTypes{ElementType::f32, ElementType::f32}};

}  // namespace

const Kernel simt_f32_128x128 = simt::kernel_of<Tile, cost, name>(types, "tiles of 128 x 128, 8 x 8 a thread");

}  // namespace exactile::cuda
