// SPDX-License-Identifier: Apache-2.0
// `sm90_f64_mma` where A is contiguous along K.
#include <array>

#include "cuda/kernels/dmma/sm90_kernel.cuh"

namespace exactile::cuda::dmma {

Status launch_along_k(std::size_t tile, const Parameters& parameters, const Device& device, std::string_view name,
                      cudaStream_t stream) {
  static constexpr auto launches = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<TileKind::Launch*, small_tiles>{
        launch_tile<std::tuple_element_t<i, SmallTiles<FormOfA::along_k>>>...};
  }
  (std::make_index_sequence<small_tiles>());
  return launches[tile](parameters, device, name, stream);
}

}  // namespace exactile::cuda::dmma
