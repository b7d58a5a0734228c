// SPDX-License-Identifier: Apache-2.0
// `simt_i32_*` and `simt_i64_*`: integers modulo 2^32 and 2^64.
#include <array>

#include "cuda/kernels/simt/product.cuh"
#include "cuda/kernels/simt/simt_kernels.hpp"

namespace exactile::cuda {
namespace {

constexpr std::array types_i32{GemmTypes{ElementType::i32, ElementType::i32}};
constexpr std::array types_i64{GemmTypes{ElementType::i64, ElementType::i64}};

using I32Tile128x128 = simt::Shape<std::int32_t, std::int32_t, 128, 128, 16, 8, 8, 4, 3, 2>;
constexpr std::string_view name_i32_128x128 = "simt_i32_128x128";
constexpr simt::TileCost cost_i32_128x128 = simt::tile_cost<I32Tile128x128>(330, 279);

using I32Tile32x32 = simt::Shape<std::int32_t, std::int32_t, 32, 32, 32, 4, 4, 4, 3, 8, true>;
constexpr std::string_view name_i32_32x32 = "simt_i32_32x32";
constexpr simt::TileCost cost_i32_32x32 = simt::tile_cost<I32Tile32x32>(33, 19.5);

using I64Tile64x64 = simt::Shape<std::int64_t, std::int64_t, 64, 64, 16, 4, 4, 4, 3, 2>;
constexpr std::string_view name_i64_64x64 = "simt_i64_64x64";
constexpr simt::TileCost cost_i64_64x64 = simt::tile_cost<I64Tile64x64>(300, 280);

}  // namespace

const Kernel simt_i32_128x128 = simt::kernel_of<I32Tile128x128, cost_i32_128x128, name_i32_128x128>(
    types_i32, "tiles of 128 x 128, 8 x 8 a thread");
const Kernel simt_i32_32x32 =
    simt::kernel_of<I32Tile32x32, cost_i32_32x32, name_i32_32x32>(types_i32, "tiles of 32 x 32, 4 x 4 a thread");
const Kernel simt_i64_64x64 =
    simt::kernel_of<I64Tile64x64, cost_i64_64x64, name_i64_64x64>(types_i64, "tiles of 64 x 64, 4 x 4 a thread");

}  // namespace exactile::cuda
