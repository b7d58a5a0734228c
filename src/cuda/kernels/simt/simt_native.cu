// SPDX-License-Identifier: Apache-2.0
// `simt_native`: types of 8 and 16 bits, converted on their way to shared memory and summed in f32 or i32.
#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/simt/product.cuh"
#include "cuda/tile/dispatch.cuh"

namespace exactile::cuda {
namespace {

using enum ElementType;
constexpr std::array types{GemmTypes{f16, f16},    GemmTypes{f16, f32},     GemmTypes{bf16, bf16},
                           GemmTypes{bf16, f32},   GemmTypes{f8e4m3, f32},  GemmTypes{f8e4m3, bf16},
                           GemmTypes{f8e5m2, f32}, GemmTypes{f8e5m2, bf16}, GemmTypes{i8, i32}};

template <class In, class Out>
using Tile = simt::Shape<In, Out, 64, 64, 16, 4, 8, 4, 2, 4>;
constexpr std::string_view name = "simt_native";
constexpr simt::TileSize tile = simt::size_of<Tile<__half, float>>;

}  // namespace

const Kernel simt_native{
    .name = name,
    .role = "engine",
    .summary = "8 and 16 bits on CUDA cores, converted to the type that sums; 4 x 8 a thread",
    .types = types,
    .refuses = [](const plan::Problem& p, const Device&) { return simt::refuses(p, tile); },
    .candidates = [](const plan::Problem& p, const Device& device) { return simt::candidates(p, device, tile); },
    .make =
        [](const plan::Problem& p, const Device& device, const Configuration& c) {
          return with_types(p.description.types, [&]<class In, class Out>() -> std::unique_ptr<DeviceProduct> {
            if constexpr (sizeof(In) <= 2) {
              return std::make_unique<simt::Product<Tile<In, Out>>>(name, p, device, c);
            } else {
              return nullptr;  // not among `types`
            }
          });
        }};

}  // namespace exactile::cuda
