// SPDX-License-Identifier: Apache-2.0
// `simt_cf32_*` and `simt_cf64_*`: complex products by the definition, four real multiply-adds each.
#include <array>

#include "cuda/kernels/simt/product.cuh"
#include "cuda/kernels/simt/simt_kernels.hpp"

namespace exactile::cuda {
namespace {

constexpr std::array types_cf32{GemmTypes{ElementType::cf32, ElementType::cf32}};
constexpr std::array types_cf64{GemmTypes{ElementType::cf64, ElementType::cf64}};

using Cf32Tile64x64 = simt::Shape<Complex<float>, Complex<float>, 64, 64, 16, 4, 4, 4, 3, 2>;
constexpr std::string_view name_cf32_64x64 = "simt_cf32_64x64";
constexpr simt::TileCost cost_cf32_64x64 = simt::tile_cost<Cf32Tile64x64>(220, 205);

using Cf64Tile64x32 = simt::Shape<Complex<double>, Complex<double>, 64, 32, 8, 4, 2, 4, 3, 2>;
constexpr std::string_view name_cf64_64x32 = "simt_cf64_64x32";
constexpr simt::TileCost cost_cf64_64x32 = simt::tile_cost<Cf64Tile64x32>(160, 150);

}  // namespace

const Kernel simt_cf32_64x64 =
    simt::kernel_of<Cf32Tile64x64, cost_cf32_64x64, name_cf32_64x64>(types_cf32, "tiles of 64 x 64, 4 x 4 a thread");
const Kernel simt_cf64_64x32 =
    simt::kernel_of<Cf64Tile64x32, cost_cf64_64x32, name_cf64_64x32>(types_cf64, "tiles of 64 x 32, 4 x 2 a thread");

}  // namespace exactile::cuda
