// SPDX-License-Identifier: Apache-2.0
// `simt_f32`: f32 on the CUDA cores, by size of the product.
#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/simt/product.cuh"

namespace exactile::cuda {
namespace {

constexpr std::array types{GemmTypes{ElementType::f32, ElementType::f32}};
constexpr std::string_view name = "simt_f32";

using Tile128x128 = simt::Shape<float, float, 128, 128, 16, 8, 8, 4, 3, 2>;
using Tile64x128 = simt::Shape<float, float, 64, 128, 16, 8, 8, 4, 3, 4, true>;
using Tile64x64 = simt::Shape<float, float, 64, 64, 16, 8, 8, 4, 3, 6, true>;
using Tile32x32 = simt::Shape<float, float, 32, 32, 32, 4, 4, 4, 3, 8, true, tile_piece_k, 2>;
using Tile8x128 = simt::Shape<float, float, 8, 128, 32, 8, 1, 1, 4, 3, false, tile_piece_k, 2>;

}  // namespace

const Kernel simt_f32 = simt::kernel_of<name, Tile128x128, Tile64x128, Tile64x64, Tile8x128, Tile32x32>(
    types, "f32 on CUDA cores, 4 x 4 or 8 x 8 a thread");

}  // namespace exactile::cuda
