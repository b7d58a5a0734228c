// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernels of grouped products of a type.
#pragma once

#include "cuda/kernels/sm90/native/gemm.cuh"

namespace exactile::cuda::sm90::native {

/// Tiles of so many rows and columns; of either layout of B where elements have 16 bits.
template <class In, int m, int n>
[[nodiscard]] Status enqueue_grouped(const GroupedParameters<DeviceAccumulator<In>>& p, Major b, int ctas,
                                     std::string_view kernel, cudaStream_t stream) {
  if constexpr (sizeof(In) == 2)
    if (b == Major::mn) return enqueue_tile<Tile<In, m, n, Major::k, Major::mn>>(p, ctas, kernel, stream);
  return enqueue_tile<Tile<In, m, n, Major::k, Major::k>>(p, ctas, kernel, stream);
}

template <class In>
Status enqueue_grouped_tiles(const GroupedParameters<DeviceAccumulator<In>>& p, TileShape tile, Major b, int ctas,
                             std::string_view kernel, cudaStream_t stream) {
  Status status(StatusCode::unsupported, "no grouped kernel has tiles of that size");
  const auto enqueue_if = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
    constexpr TileShape shape = grouped_configs[i].tile;
    if (shape != tile) return false;
    status = enqueue_grouped<In, shape.m, shape.n>(p, b, ctas, kernel, stream);
    return true;
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    static_cast<void>((enqueue_if(std::integral_constant<std::size_t, i>()) || ...));
  }
  (std::make_index_sequence<std::size(grouped_configs)>());
  return status;
}

}  // namespace exactile::cuda::sm90::native
