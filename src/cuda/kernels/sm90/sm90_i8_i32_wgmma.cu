// SPDX-License-Identifier: Apache-2.0
// `sm90_i8_i32_wgmma`: i8 products on the tensor cores of compute capability 9.0, summed in i32, exact modulo 2^32.
// Traffic model: a CTA reads 128 rows of A and its share of a cluster's columns of B for each tile; L2 serves most.
// Limit: the tensor cores, and power for large products. See docs/ladder/sm90_wgmma.md.
#include "cuda/kernels/sm90/narrow/gemm.cuh"
#include "cuda/kernels/sm90/sm90_kernels.hpp"

namespace exactile::cuda {
namespace {

constexpr std::string_view name = "sm90_i8_i32_wgmma";
constexpr GemmTypes types[] = {{ElementType::i8, ElementType::i32}};

}  // namespace

namespace sm90::narrow {
template Status enqueue_tiles<std::int8_t>(const Parameters<std::int32_t>&, int, Major, Major, const Device&,
                                           std::string_view, cudaStream_t);
}  // namespace sm90::narrow

const Kernel sm90_i8_i32_wgmma{.name = name,
                               .role = "engine",
                               .summary = "i8 on Hopper's tensor cores, summed in i32",
                               .types = types,
                               .least_capability = 90,
                               .most_capability = 90,
                               .refuses = sm90::narrow::refuses,
                               .cost = sm90::narrow::cost,
                               .prepare = [](const plan::Problem& p, const Device& device) {
                                 return sm90::narrow::make_product<std::int8_t>(p, device, name);
                               }};

}  // namespace exactile::cuda
