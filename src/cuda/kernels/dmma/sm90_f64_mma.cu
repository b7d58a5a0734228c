// SPDX-License-Identifier: Apache-2.0
// `sm90_f64_mma`: f64 on Hopper's FP64 tensor cores (m16n8k16 and k8). Any strides: what is neither contiguous nor
// aligned is copied by elements. Traffic model: each tile reads its rows of A and columns of B once. See
// docs/design/f64_mma.md.
#include <array>
#include <memory>

#include "cuda/kernels/dmma/sm90_kernel.cuh"
#include "cuda/kernels/kernels.hpp"

namespace exactile::cuda {
namespace {

using namespace dmma;

template <std::size_t tile>
Status launch_tile_along_k(const Parameters& parameters, const Device& device, std::string_view name,
                           cudaStream_t stream) {
  return launch_along_k(tile, parameters, device, name, stream);
}

/// Whose warps have an even number of 16 rows.
template <int Bm, int Bn, int Wm, int Wn, int Stages>
using Even = Tile<Bm, Bn, Wm, Wn, 16, 1, Stages, 1, FormOfA::by_rows, Instruction::m16n8k16>;

using Large = Even<128, 128, 64, 32, 6>;
using Long = Even<128, 64, 32, 32, 8>;
using Wide112 = Even<128, 112, 32, 56, 6>;
using Wide96 = Even<128, 96, 32, 48, 7>;
using Wide80 = Even<128, 80, 32, 40, 8>;
using Square96 = Tile<96, 96, 48, 24, 8, 1, 8, 1>;
using Half96 = Even<64, 96, 32, 24, 8>;
using Half80 = Tile<64, 80, 16, 40, 8, 1, 8, 1>;

constexpr auto kinds = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::array{kind<Large>(),
                    kind<Long>(),
                    kind<Wide112>(),
                    kind<Wide96>(),
                    kind<Wide80>(),
                    kind<Square96>(),
                    kind<Half96>(),
                    kind<Half80>(),
                    kind<std::tuple_element_t<i, SmallTiles<FormOfA::by_rows>>>(launch_tile_along_k<i>)...};
}
(std::make_index_sequence<small_tiles>());

constexpr std::array f64_types{GemmTypes{ElementType::f64, ElementType::f64}};

}  // namespace

std::unique_ptr<DeviceProduct> make_sm90_f64(const plan::Problem& p, const Device& device, const Configuration& c,
                                             std::int64_t k_of_chunk) {
  return std::make_unique<DmmaProduct>(tiling_of(p.description, kinds, c, k_of_chunk), device, "sm90_f64_mma");
}

const Kernel sm90_f64_mma{
    .name = "sm90_f64_mma",
    .role = "engine",
    .summary = "FP64 tensor cores, m16n8k16, producer and consumer warps",
    .types = f64_types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses = [](const plan::Problem& p, const Device&) { return why_refused(p.description); },
    .candidates = [](const plan::Problem& p,
                     const Device& device) { return candidates(p, device, kinds, Slices::free); },
    .make = [](const plan::Problem& p, const Device& device,
               const Configuration& c) { return make_sm90_f64(p, device, in_one_chunk(p, c), k_of_slice(p, c)); },
    .has_instances = true};

}  // namespace exactile::cuda
