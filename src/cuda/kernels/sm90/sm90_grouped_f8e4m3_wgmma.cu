// SPDX-License-Identifier: Apache-2.0
// `sm90_grouped_f8e4m3_wgmma`: as sm90_f8e4m3_wgmma, for groups of rows with a B each. See docs/design/sm90_wgmma.md.
#include "cuda/kernels/sm90/native/grouped_kernels.cuh"

namespace exactile::cuda::sm90::native {

template Status enqueue_grouped_tiles<__nv_fp8_e4m3>(const GroupedParameters<float>&, TileShape, Major, int,
                                                     std::string_view, cudaStream_t);

}  // namespace exactile::cuda::sm90::native
