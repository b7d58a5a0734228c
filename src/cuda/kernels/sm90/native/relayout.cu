// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/native/relayout.hpp"

#include <algorithm>
#include <utility>

#include "cuda/tile/divisor.hpp"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::native {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 65535;

[[nodiscard]] unsigned blocks_for(std::int64_t work) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(work, 1, most_blocks));
}

struct alignas(16) Word {
  unsigned x[4];
};

/// L2 lets go of it first: the copy is what will be read again.
[[nodiscard]] __device__ inline Word read_once(const uint4* from) {
  const uint4 word = __ldcs(from);
  return {{word.x, word.y, word.z, word.w}};
}

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

/// A copy of rows that are contiguous at any address. A thread puts together 16 bytes of each of so many rows from
/// aligned words; threads are counted along the rows first.
template <class T>
struct Shift {
  static constexpr int rows_at_once = 2;
  static constexpr int units = 16 / sizeof(T);

  RelayoutSource from;
  T* to;
  int words;  ///< in a row of the copy
  int rows;   ///< of all matrices
  Divisor by_words;
  Divisor by_mn;

  Shift() = default;
  Shift(const RelayoutSource& from, void* to)
      : from(from),
        to(static_cast<T*>(to)),
        words(static_cast<int>(relayout_pitch(from.k, sizeof(T)) / units)),
        rows(static_cast<int>(from.mn * from.batches)),
        by_words(words),
        by_mn(static_cast<int>(from.mn)) {}
  [[nodiscard]] __host__ __device__ int threads() const { return (rows + rows_at_once - 1) / rows_at_once * words; }

  [[nodiscard]] __device__ const T* row(int index) const {
    const int batch = by_mn.quotient(index);
    return product_base(static_cast<const T*>(from.data), from.layout, batch) +
           (index - batch * static_cast<int>(from.mn)) * from.layout.row_stride;
  }
  __device__ void move(int thread) const;
};

template <class T>
__device__ void Shift<T>::move(int thread) const {
  const int group = by_words.quotient(thread);
  const int begin = group * rows_at_once;
  const std::int64_t first = std::int64_t{thread - group * words} * units;
  const T* data[rows_at_once];
  Word read[rows_at_once][2];
  bool are_within[rows_at_once];  // the row: no others are read
#pragma unroll
  for (int i = 0; i < rows_at_once; ++i) {
    data[i] = row(min(begin + i, rows - 1)) + first;
    const auto address = reinterpret_cast<std::uintptr_t>(data[i]);
    const auto offset = static_cast<int>(address % 16);
    are_within[i] = first * static_cast<std::int64_t>(sizeof(T)) >= offset &&
                    (from.k - first) * static_cast<std::int64_t>(sizeof(T)) + offset >= (offset == 0 ? 16 : 32);
    const auto* const aligned = reinterpret_cast<const uint4*>(address - static_cast<unsigned>(offset));
    read[i][0] = are_within[i] ? read_once(aligned) : Word{};
    read[i][1] = are_within[i] && offset != 0 ? read_once(aligned + 1) : Word{};
  }
#pragma unroll
  for (int i = 0; i < rows_at_once; ++i) {
    if (begin + i >= rows) break;
    union {
      Word all;
      T elements[units];
    } out{straddling(read[i][0], read[i][1], static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(data[i]) % 16))};
    if (!are_within[i])
      for (int e = 0; e < units; ++e) out.elements[e] = first + e < from.k ? data[i][e] : T{};
    *reinterpret_cast<Word*>(to + std::int64_t{begin + i} * words * units + first) = out.all;
  }
}

/// One copy, or two behind one another.
template <class T>
__global__ void __launch_bounds__(threads)
    shift_kernel(const __grid_constant__ Shift<T> x, const __grid_constant__ Shift<T> y) {
  start_kernel_after();
  wait_for_kernel_before();
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread < x.threads()) {
    x.move(thread);
  } else if (thread - x.threads() < y.threads()) {
    y.move(thread - x.threads());
  }
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
__global__ void __launch_bounds__(threads) square_kernel(RelayoutSource from, To* to, std::int64_t pitch) {
  constexpr int units = 4 / sizeof(To);  // a store is 4 bytes
  __shared__ To square[side][side + units];
  const std::int64_t first_k = static_cast<std::int64_t>(blockIdx.x) * side;
  const bool mn_major = abs(from.layout.row_stride) < abs(from.layout.column_stride);
  const int fast = static_cast<int>(threadIdx.x) % side;
  const int slow = static_cast<int>(threadIdx.x) / side;
  for (std::int64_t batch = blockIdx.z; batch < from.batches; batch += gridDim.z) {
    const From* const data = product_base(static_cast<const From*>(from.data), from.layout, batch);
    for (std::int64_t first_mn = static_cast<std::int64_t>(blockIdx.y) * side; first_mn < from.mn;
         first_mn += static_cast<std::int64_t>(gridDim.y) * side) {
      To elements[side * side / threads];
#pragma unroll
      for (int i = 0; i < side * side / threads; ++i) {
        const int step = i * threads / side;
        const int mn = mn_major ? fast : slow + step;
        const int k = mn_major ? slow + step : fast;
        elements[i] =
            first_mn + mn < from.mn && first_k + k < from.k
                ? converted<To>(
                      data[(first_mn + mn) * from.layout.row_stride + (first_k + k) * from.layout.column_stride])
                : To{};
      }
#pragma unroll
      for (int i = 0; i < side * side / threads; ++i) {
        const int step = i * threads / side;
        square[mn_major ? fast : slow + step][mn_major ? slow + step : fast] = elements[i];
      }
      __syncthreads();
      for (int at = static_cast<int>(threadIdx.x); at < side * side / units; at += threads) {
        const int mn = at / (side / units);
        const int k = at % (side / units) * units;
        if (first_mn + mn < from.mn && first_k + k < pitch)
          *reinterpret_cast<unsigned*>(to + (batch * from.mn + first_mn + mn) * pitch + first_k + k) =
              *reinterpret_cast<const unsigned*>(&square[mn][k]);
      }
      __syncthreads();
    }
  }
}

template <class From, class To>
[[nodiscard]] cudaError_t enqueue_square(const RelayoutSource& from, void* to, cudaStream_t stream) {
  const std::int64_t pitch = relayout_pitch(from.k, sizeof(To));
  const dim3 grid(static_cast<unsigned>((pitch + side - 1) / side), blocks_for((from.mn + side - 1) / side),
                  blocks_for(from.batches));
  square_kernel<From><<<grid, threads, 0, stream>>>(from, static_cast<To*>(to), pitch);
  return cudaGetLastError();
}

/// The copy's rows in the operand.
[[nodiscard]] RelayoutSource rows_of(const Relayout& copy) {
  RelayoutSource rows = copy.from;
  if (copy.mn_major) {
    std::swap(rows.mn, rows.k);
    std::swap(rows.layout.row_stride, rows.layout.column_stride);
  }
  return rows;
}

template <class Bits>
[[nodiscard]] cudaError_t enqueue_moves(std::span<const Relayout> copies, cudaStream_t stream) {
  Shift<Bits> shifts[2]{};
  int count = 0;
  for (const Relayout& copy : copies) {
    const RelayoutSource rows = rows_of(copy);
    if (rows.layout.column_stride == 1) {
      shifts[count++] = Shift<Bits>(rows, copy.to);
    } else if (const cudaError_t error = enqueue_square<Bits, Bits>(rows, copy.to, stream); error != cudaSuccess) {
      return error;
    }
  }
  if (count == 0) return cudaSuccess;
  const int all = shifts[0].threads() + shifts[1].threads();
  return launch_early(true, shift_kernel<Bits>, static_cast<unsigned>((all + threads - 1) / threads), threads, 0,
                      stream, shifts[0], shifts[1]);
}

}  // namespace

cudaError_t enqueue_relayout(ElementType type, ElementType to_type, std::span<const Relayout> copies,
                             cudaStream_t stream) {
  if (to_type != type) {
    for (const Relayout& copy : copies) {
      const RelayoutSource rows = rows_of(copy);
      const cudaError_t error = type == ElementType::f8e4m3
                                    ? enqueue_square<__nv_fp8_e4m3, __half>(rows, copy.to, stream)
                                    : enqueue_square<__nv_fp8_e5m2, __half>(rows, copy.to, stream);
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
  }
  switch (size_in_bytes(type)) {
    case 1: return enqueue_moves<std::uint8_t>(copies, stream);
    case 2: return enqueue_moves<std::uint16_t>(copies, stream);
    default: return enqueue_moves<std::uint32_t>(copies, stream);
  }
}

}  // namespace exactile::cuda::sm90::native
