// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host side of the products whose types the tensor cores multiply as they are.
#pragma once

#include <memory>

#include "cuda/kernels/sm90/narrow/output.cuh"
#include "cuda/kernels/sm90/narrow/plan.hpp"
#include "cuda/kernels/sm90/tile_order.cuh"

namespace exactile::cuda::sm90::narrow {

template <class Sum>
struct Parameters {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap c;
  TileOrder order;  ///< its batches are products times chunks of K
  int chunks;
  int chunk_blocks;  ///< blocks of K in a chunk
  int blocks;        ///< in all of K
  bool a_is_shared;  ///< one A for all products
  bool b_is_shared;
  Output<Sum> out;
};

/// Enqueues the kernel of that width and those directions; defined with the kernels of each type.
template <class In>
[[nodiscard]] Status enqueue_tiles(const Parameters<DeviceSum<In>>& p, int tile_n, Major a, Major b,
                                   const Device& device, std::string_view kernel, cudaStream_t stream);

/// A product of elements In: f16 (also for the 8-bit floats), bf16 or i8.
template <class In>
[[nodiscard]] std::unique_ptr<DeviceProduct> make_product(const plan::Problem& problem, const Device& device,
                                                          std::string_view kernel);

[[nodiscard]] std::string_view refuses(const plan::Problem& problem, const Device& device);
[[nodiscard]] inline double cost(const plan::Problem& problem, const Device& device) {
  return choose_layout(problem.description, device).seconds;
}

}  // namespace exactile::cuda::sm90::narrow
