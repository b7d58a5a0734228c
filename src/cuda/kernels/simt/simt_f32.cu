// SPDX-License-Identifier: Apache-2.0
// `simt_f32_*`: f32 on the ordinary arithmetic units, by size of the product.
#include <array>

#include "cuda/kernels/simt/product.cuh"
#include "cuda/kernels/simt/simt_kernels.hpp"

namespace exactile::cuda {
namespace {

constexpr std::array types{GemmTypes{ElementType::f32, ElementType::f32}};

using Tile128x128 = simt::Shape<float, float, 128, 128, 16, 8, 8, 4, 3, 2>;
constexpr std::string_view name_128x128 = "simt_f32_128x128";
constexpr simt::TileCost cost_128x128 = simt::tile_cost<Tile128x128>(200, 159);

using Tile64x128 = simt::Shape<float, float, 64, 128, 16, 8, 8, 4, 3, 4, true>;
constexpr std::string_view name_64x128 = "simt_f32_64x128";
constexpr simt::TileCost cost_64x128 = simt::tile_cost<Tile64x128>(107, 81);

using Tile64x64 = simt::Shape<float, float, 64, 64, 16, 8, 8, 4, 3, 6, true>;
constexpr std::string_view name_64x64 = "simt_f32_64x64";
constexpr simt::TileCost cost_64x64 = simt::tile_cost<Tile64x64>(82, 43);

using Tile32x32 = simt::Shape<float, float, 32, 32, 32, 4, 4, 4, 3, 8, true, tile_piece_terms, 2>;
constexpr std::string_view name_32x32 = "simt_f32_32x32";
constexpr simt::TileCost cost_32x32 = simt::tile_cost<Tile32x32>(22, 17.5);

using Tile8x128 = simt::Shape<float, float, 8, 128, 32, 8, 1, 1, 4, 3, false, tile_piece_terms, 2>;
constexpr std::string_view name_8x128 = "simt_f32_8x128";
constexpr simt::TileCost cost_8x128 = simt::tile_cost<Tile8x128>(30, 25);

}  // namespace

const Kernel simt_f32_128x128 =
    simt::kernel_of<Tile128x128, cost_128x128, name_128x128>(types, "tiles of 128 x 128, 8 x 8 a thread");
const Kernel simt_f32_64x128 =
    simt::kernel_of<Tile64x128, cost_64x128, name_64x128>(types, "tiles of 64 x 128, 8 x 8 a thread");
const Kernel simt_f32_64x64 =
    simt::kernel_of<Tile64x64, cost_64x64, name_64x64>(types, "tiles of 64 x 64, 8 x 8 a thread");
const Kernel simt_f32_32x32 =
    simt::kernel_of<Tile32x32, cost_32x32, name_32x32>(types, "tiles of 32 x 32, 4 x 4 a thread");
const Kernel simt_f32_8x128 =
    simt::kernel_of<Tile8x128, cost_8x128, name_8x128>(types, "few rows or columns: tiles of 8 x 128, 8 x 1 a thread");

}  // namespace exactile::cuda
