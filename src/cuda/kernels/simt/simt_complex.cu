// SPDX-License-Identifier: Apache-2.0
// `simt_complex`: complex products by the definition, four real multiply-adds each.
#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/simt/product.cuh"

namespace exactile::cuda {
namespace {

constexpr std::array types{GemmTypes{ElementType::cf32, ElementType::cf32},
                           GemmTypes{ElementType::cf64, ElementType::cf64}};
constexpr std::string_view name = "simt_complex";

using Cf32Tile64x64 = simt::Shape<Complex<float>, Complex<float>, 64, 64, 16, 4, 4, 4, 3, 2>;
using Cf64Tile64x32 = simt::Shape<Complex<double>, Complex<double>, 64, 32, 8, 4, 2, 4, 3, 2>;

}  // namespace

const Kernel simt_complex =
    simt::kernel_of<name, Cf32Tile64x64, Cf64Tile64x32>(types, "complex f32, 4 x 4 a thread, and f64, 4 x 2");

}  // namespace exactile::cuda
