// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/narrow/relayout.hpp"

#include <algorithm>
#include <utility>

#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::narrow {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 65535;

[[nodiscard]] unsigned blocks_for(std::int64_t work) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(work, 1, most_blocks));
}

struct alignas(16) Word {
  unsigned x[4];
};

/// 16 bytes that begin `offset` bytes into `first` and end in `second`.
[[nodiscard]] __device__ inline Word straddling(const Word& first, const Word& second, unsigned offset) {
  unsigned x[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[i] = first.x[i];
    x[4 + i] = second.x[i];
  }
#pragma unroll
  for (int i = 0; i < 6; ++i) x[i] = (offset & 8) != 0 ? x[i + 2] : x[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) x[i] = (offset & 4) != 0 ? x[i + 1] : x[i];
  Word word;
#pragma unroll
  for (int i = 0; i < 4; ++i) word.x[i] = __funnelshift_r(x[i], x[i + 1], 8 * (offset % 4));
  return word;
}

/// Rows that are contiguous at any address: a thread puts together 16 bytes of each of four rows from aligned words.
template <class T>
__global__ void __launch_bounds__(threads) shift_kernel(Lines from, T* to, std::int64_t pitch) {
  constexpr int units = 16 / sizeof(T), at_once = 4;
  start_kernel_after();
  wait_for_kernel_before();
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * units;
  if (first >= pitch) return;
  const std::int64_t rows = from.lines * from.batches;
  for (std::int64_t begin = static_cast<std::int64_t>(blockIdx.y) * at_once; begin < rows;
       begin += static_cast<std::int64_t>(gridDim.y) * at_once) {
    const T* data[at_once];
    Word words[at_once][2];
    bool are_within[at_once];  // the row: no others are read
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const std::int64_t row = std::min(begin + i, rows - 1);
      data[i] = product_base(static_cast<const T*>(from.data), from.layout, row / from.lines) +
                row % from.lines * from.layout.row_stride + first;
      const auto address = reinterpret_cast<std::uintptr_t>(data[i]);
      const auto offset = static_cast<int>(address % 16);
      are_within[i] = first * static_cast<std::int64_t>(sizeof(T)) >= offset &&
                      (from.k - first) * static_cast<std::int64_t>(sizeof(T)) + offset >= (offset == 0 ? 16 : 32);
      const auto* const aligned = reinterpret_cast<const Word*>(address - static_cast<unsigned>(offset));
      words[i][0] = are_within[i] ? aligned[0] : Word{};
      words[i][1] = are_within[i] && offset != 0 ? aligned[1] : Word{};
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (begin + i >= rows) break;
      union {
        Word all;
        T elements[units];
      } out{
          straddling(words[i][0], words[i][1], static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(data[i]) % 16))};
      if (!are_within[i])
        for (int e = 0; e < units; ++e) out.elements[e] = first + e < from.k ? data[i][e] : T{};
      *reinterpret_cast<Word*>(to + (begin + i) * pitch + first) = out.all;
    }
  }
}

template <class T>
[[nodiscard]] cudaError_t enqueue_shift(const Lines& from, void* to, cudaStream_t stream) {
  const std::int64_t pitch = relayout_pitch(from.k, sizeof(T));
  const std::int64_t in_row = pitch * static_cast<std::int64_t>(sizeof(T)) / 16;
  const std::int64_t blocks = (in_row + threads - 1) / threads;
  const auto block = static_cast<unsigned>(((in_row + blocks - 1) / blocks + 31) / 32 * 32);
  const dim3 grid(static_cast<unsigned>(blocks), blocks_for((from.lines * from.batches + 3) / 4));
  return launch_early(true, shift_kernel<T>, grid, block, 0, stream, from, static_cast<T*>(to), pitch);
}

template <class To, class From>
[[nodiscard]] __device__ To converted(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else {
    return __float2half_rn(static_cast<float>(x));  // exact
  }
}

constexpr int side = 64;  // of the square that a block moves through shared memory

/// Any strides: reads along the shorter, writes rows of k. What lies beyond k in a row of the copy is zero.
template <class From, class To>
__global__ void __launch_bounds__(threads) square_kernel(Lines from, To* to, std::int64_t pitch) {
  constexpr int units = 4 / sizeof(To);  // a store is 4 bytes
  __shared__ To square[side][side + units];
  const std::int64_t first_k = static_cast<std::int64_t>(blockIdx.x) * side;
  const bool along_lines = abs(from.layout.row_stride) < abs(from.layout.column_stride);
  const int fast = static_cast<int>(threadIdx.x) % side;
  const int slow = static_cast<int>(threadIdx.x) / side;
  for (std::int64_t batch = blockIdx.z; batch < from.batches; batch += gridDim.z) {
    const From* const data = product_base(static_cast<const From*>(from.data), from.layout, batch);
    for (std::int64_t first_line = static_cast<std::int64_t>(blockIdx.y) * side; first_line < from.lines;
         first_line += static_cast<std::int64_t>(gridDim.y) * side) {
      To elements[side * side / threads];
#pragma unroll
      for (int i = 0; i < side * side / threads; ++i) {
        const int step = i * threads / side;
        const int line = along_lines ? fast : slow + step;
        const int k = along_lines ? slow + step : fast;
        elements[i] =
            first_line + line < from.lines && first_k + k < from.k
                ? converted<To>(
                      data[(first_line + line) * from.layout.row_stride + (first_k + k) * from.layout.column_stride])
                : To{};
      }
#pragma unroll
      for (int i = 0; i < side * side / threads; ++i) {
        const int step = i * threads / side;
        square[along_lines ? fast : slow + step][along_lines ? slow + step : fast] = elements[i];
      }
      __syncthreads();
      for (int at = static_cast<int>(threadIdx.x); at < side * side / units; at += threads) {
        const int line = at / (side / units);
        const int k = at % (side / units) * units;
        if (first_line + line < from.lines && first_k + k < pitch)
          *reinterpret_cast<unsigned*>(to + (batch * from.lines + first_line + line) * pitch + first_k + k) =
              *reinterpret_cast<const unsigned*>(&square[line][k]);
      }
      __syncthreads();
    }
  }
}

template <class From, class To>
[[nodiscard]] cudaError_t enqueue_square(const Lines& from, void* to, cudaStream_t stream) {
  const std::int64_t pitch = relayout_pitch(from.k, sizeof(To));
  const dim3 grid(static_cast<unsigned>((pitch + side - 1) / side), blocks_for((from.lines + side - 1) / side),
                  blocks_for(from.batches));
  square_kernel<From><<<grid, threads, 0, stream>>>(from, static_cast<To*>(to), pitch);
  return cudaGetLastError();
}

}  // namespace

cudaError_t enqueue_relayout(ElementType type, ElementType to_type, const Lines& from, bool along_lines, void* to,
                             cudaStream_t stream) {
  Lines rows = from;
  if (along_lines) {
    std::swap(rows.lines, rows.k);
    std::swap(rows.layout.row_stride, rows.layout.column_stride);
  }
  const bool is_contiguous = rows.layout.column_stride == 1;
  const auto move = [&]<class Bits>() {
    return is_contiguous ? enqueue_shift<Bits>(rows, to, stream) : enqueue_square<Bits, Bits>(rows, to, stream);
  };
  if (to_type != type)
    return type == ElementType::f8e4m3 ? enqueue_square<__nv_fp8_e4m3, __half>(rows, to, stream)
                                       : enqueue_square<__nv_fp8_e5m2, __half>(rows, to, stream);
  switch (size_in_bytes(type)) {
    case 1: return move.operator()<std::uint8_t>();
    case 2: return move.operator()<std::uint16_t>();
    default: return move.operator()<std::uint32_t>();
  }
}

}  // namespace exactile::cuda::sm90::narrow
