// SPDX-License-Identifier: Apache-2.0
// `simt_cf32` and `simt_cf64`: complex products by the definition, four real multiply-adds each.
#include <array>

#include "cuda/kernels/simt/product.cuh"
#include "cuda/kernels/simt/simt_kernels.hpp"

namespace exactile::cuda {
namespace {

constexpr std::array types_cf32{GemmTypes{ElementType::cf32, ElementType::cf32}};
constexpr std::array types_cf64{GemmTypes{ElementType::cf64, ElementType::cf64}};
constexpr std::string_view name_cf32 = "simt_cf32";
constexpr std::string_view name_cf64 = "simt_cf64";

using Cf32Tile64x64 = simt::Shape<Complex<float>, Complex<float>, 64, 64, 16, 4, 4, 4, 3, 2>;
using Cf64Tile64x32 = simt::Shape<Complex<double>, Complex<double>, 64, 32, 8, 4, 2, 4, 3, 2>;

}  // namespace

const Kernel simt_cf32 = simt::kernel_of<name_cf32, Cf32Tile64x64>(types_cf32, "complex f32, 4 x 4 a thread");
const Kernel simt_cf64 = simt::kernel_of<name_cf64, Cf64Tile64x32>(types_cf64, "complex f64, 4 x 2 a thread");

}  // namespace exactile::cuda
