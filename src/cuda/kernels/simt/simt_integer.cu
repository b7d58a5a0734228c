// SPDX-License-Identifier: Apache-2.0
// `simt_integer`: integers modulo 2^32 and 2^64.
#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/simt/product.cuh"

namespace exactile::cuda {
namespace {

constexpr std::array types{GemmTypes{ElementType::i32, ElementType::i32},
                           GemmTypes{ElementType::i64, ElementType::i64}};
constexpr std::string_view name = "simt_integer";

using I32Tile128x128 = simt::Shape<std::int32_t, std::int32_t, 128, 128, 16, 8, 8, 4, 3, 2>;
using I32Tile32x32 = simt::Shape<std::int32_t, std::int32_t, 32, 32, 32, 4, 4, 4, 3, 8, true>;
using I64Tile64x64 = simt::Shape<std::int64_t, std::int64_t, 64, 64, 16, 4, 4, 4, 3, 2>;

}  // namespace

const Kernel simt_integer =
    simt::kernel_of<name, I32Tile128x128, I32Tile32x32, I64Tile64x64>(types, "i32 and i64, 4 x 4 or 8 x 8 a thread");

}  // namespace exactile::cuda
