// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/narrow/relayout.hpp"

#include <algorithm>

#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::narrow {
namespace {

constexpr int side = 64;  // of the square that a block moves through shared memory
constexpr int threads = 256;

template <class To, class From>
[[nodiscard]] __device__ To converted(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else {
    return __float2half_rn(static_cast<float>(x));  // exact
  }
}

/// Reads along the shorter stride, writes along k; what lies beyond k in a line of the copy is zero.
template <class From, class To>
__global__ void __launch_bounds__(threads) relayout_kernel(Lines from, To* to, std::int64_t pitch) {
  __shared__ To square[side][side + 2];
  const std::int64_t first_k = static_cast<std::int64_t>(blockIdx.x) * side;
  const bool along_lines = abs(from.layout.row_stride) < abs(from.layout.column_stride);
  const int fast = static_cast<int>(threadIdx.x) % side;
  const int slow = static_cast<int>(threadIdx.x) / side;
  for (std::int64_t batch = blockIdx.z; batch < from.batches; batch += gridDim.z) {
    const From* const data = product_base(static_cast<const From*>(from.data), from.layout, batch);
    for (std::int64_t first_line = static_cast<std::int64_t>(blockIdx.y) * side; first_line < from.lines;
         first_line += static_cast<std::int64_t>(gridDim.y) * side) {
#pragma unroll
      for (int step = 0; step < side; step += threads / side) {
        const int line = along_lines ? fast : slow + step;
        const int k = along_lines ? slow + step : fast;
        To x{};
        if (first_line + line < from.lines && first_k + k < from.k)
          x = converted<To>(
              data[(first_line + line) * from.layout.row_stride + (first_k + k) * from.layout.column_stride]);
        square[line][k] = x;
      }
      __syncthreads();
#pragma unroll
      for (int step = 0; step < side; step += threads / side) {
        const std::int64_t line = first_line + slow + step;
        if (line < from.lines && first_k + fast < pitch)
          to[(batch * from.lines + line) * pitch + first_k + fast] = square[slow + step][fast];
      }
      __syncthreads();
    }
  }
}

template <class From, class To>
void enqueue(const Lines& from, void* to, cudaStream_t stream) {
  const std::int64_t pitch = relayout_pitch(from.k, sizeof(To));
  const dim3 grid(static_cast<unsigned>((pitch + side - 1) / side),
                  static_cast<unsigned>(std::min<std::int64_t>((from.lines + side - 1) / side, 65535)),
                  static_cast<unsigned>(std::min<std::int64_t>(from.batches, 65535)));
  relayout_kernel<From><<<grid, threads, 0, stream>>>(from, static_cast<To*>(to), pitch);
}

}  // namespace

void enqueue_relayout(ElementType type, const Lines& from, void* to, cudaStream_t stream) {
  switch (type) {
    case ElementType::i8: return enqueue<std::int8_t, std::int8_t>(from, to, stream);
    case ElementType::f8e4m3: return enqueue<__nv_fp8_e4m3, __half>(from, to, stream);
    case ElementType::f8e5m2: return enqueue<__nv_fp8_e5m2, __half>(from, to, stream);
    default: return enqueue<std::uint16_t, std::uint16_t>(from, to, stream);
  }
}

}  // namespace exactile::cuda::sm90::narrow
