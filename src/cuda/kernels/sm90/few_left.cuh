// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements that the first slices could not hold, where a tile has few: a CTA sums up to eight of them from A and B, by
/// the products and additions by which a tile would have been summed, to the same bits. So nobody sees how many there
/// were.
///
/// What the tensor cores sum of a chunk of K is the same wherever its factors lie in a tile. So here row r of A's tile
/// is a chunk of an element's row, column r of B's tile is that chunk of its column, and the sums are on the diagonal.
#pragma once

#include "cuda/isa/wgmma_tile.cuh"
#include "cuda/kernels/sm90/gemm.cuh"
#include "cuda/kernels/sm90/split_passes.cuh"

namespace exactile::cuda::sm90 {

inline constexpr int few_chunks = 64;  ///< at a time, of all elements together

/// An element's row of A or column of B.
struct FewLine {
  const float* data;
  float scale;
};

/// Of a CTA, in shared memory.
template <class Slices>
struct FewSpace {
  static constexpr int most_elements = Buckets::lines;                ///< together
  alignas(1024) std::byte tile[2][few_chunks * block_bytes<Slices>];  ///< of A, of B
  float sums[few_chunks];
  FewLine lines[2][most_elements];
  unsigned tiny[2][most_elements];
  ElementPlace places[most_elements];
  int count;      ///< of elements
  unsigned next;  ///< of the bucket

  /// By one thread: elements of a bucket from that one on.
  __device__ void take(const ListedElement* few, unsigned first) {
    count = 0;
    for (next = first; next != 0 && count < most_elements; next = few[next - 1].next)
      places[count++] = few[next - 1].place;
  }
};

/// How the chunks of one pass are shared out: a power of two for each element, its first ones first.
struct FewShares {
  int chunks_log;

  __device__ explicit FewShares(int elements) : chunks_log(elements > 4 ? 3 : elements > 2 ? 4 : elements > 1 ? 5 : 6) {
    static_assert(few_chunks == 1 << 6);
  }
  [[nodiscard]] __device__ int chunks() const { return 1 << chunks_log; }
  [[nodiscard]] __device__ int element(int chunk) const { return chunk >> chunks_log; }
  [[nodiscard]] __device__ int within(int chunk) const { return chunk & (chunks() - 1); }
};

[[nodiscard]] __device__ inline unsigned max_bits_of(const SplitOperand& operand, int batch, int line) {
  return facts_of(operand, batch).max_bits[line];
}

/// By a CTA: what is known of the lines before they are read.
template <class Slices>
__device__ inline void find_lines(FewSpace<Slices>& space, const SplitPair& operands) {
  constexpr int each = FewSpace<Slices>::most_elements;
  const int side = static_cast<int>(threadIdx.x) / each;
  const int element = static_cast<int>(threadIdx.x) % each;
  if (side > 1 || element >= space.count) return;
  const SplitOperand& operand = side == 0 ? operands.a : operands.b;
  const ElementPlace& at = space.places[element];
  const int line = side == 0 ? at.row : at.column;
  space.lines[side][element] = {product_base(operand.data, operand.layout, at.batch) + line * operand.layout.row_stride,
                                power_of_two(scale_exponent<Slices>(max_bits_of(operand, at.batch, line)))};
  space.tiny[side][element] = 0;
}

/// Bytes from the beginning of a tile of `few_chunks` rows, swizzled as the tensor cores expect it.
template <class Slices>
[[nodiscard]] __device__ inline int few_offset(int chunk, int k, int slice) {
  static_assert(Slices::row_bytes == 64 && Slices::chunk_stages == 1);
  return Slices::slice_offset(slice, few_chunks) + chunk * Slices::row_bytes + (k / 8 ^ chunk / 2 % 4) * 16 + k % 8 * 2;
}

/// By a CTA: slices of all lines from `first_k` on, and how much tiny is in them.
template <class Slices>
__device__ inline void split_few(FewSpace<Slices>& space, const FewShares& shares, const SplitPair& operands,
                                 int first_k) {
  constexpr int per_thread = few_chunks * block_k / split::threads;
  const int all_k = operands.a.k;
  const int count = space.count;
  const int in_chunk = static_cast<int>(threadIdx.x) % block_k;
  const auto chunk_of = [](int i) { return static_cast<int>(threadIdx.x + i * split::threads) / block_k; };
  float x[2][per_thread];
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    const std::int64_t stride = (side == 0 ? operands.a : operands.b).layout.column_stride;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const int element = shares.element(chunk_of(i));
      const int k = first_k + shares.within(chunk_of(i)) * block_k + in_chunk;
      x[side][i] = element < count && k < all_k ? space.lines[side][element].data[k * stride] : 0.0f;
    }
  }
#pragma unroll
  for (int side = 0; side < 2; ++side)
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const int element = shares.element(chunk_of(i));
      const float scale = element < count ? space.lines[side][element].scale : 0.0f;
      typename Slices::Element s[Slices::slices];
      const unsigned tiny = __reduce_add_sync(~0u, Slices::split(x[side][i], x[side][i] * scale, all_k, s));
      if (tiny != 0 && threadIdx.x % 32 == 0) atomicAdd(&space.tiny[side][element], tiny);
#pragma unroll
      for (int slice = 0; slice < Slices::slices; ++slice)
        *reinterpret_cast<typename Slices::Element*>(space.tile[side] +
                                                     few_offset<Slices>(chunk_of(i), in_chunk, slice)) = s[slice];
    }
}

/// By a warpgroup: the chunks' sums, in the order of multiply_chunk().
template <class Slices>
__device__ inline void multiply_few(FewSpace<Slices>& space) {
  const std::uint64_t a = isa::wgmma_uniform(isa::wgmma_descriptor<Slices::row_bytes>(space.tile[0]));
  const std::uint64_t b = isa::wgmma_uniform(isa::wgmma_descriptor<Slices::row_bytes>(space.tile[1]));
  float fragment[few_chunks / 2];
  isa::pin(fragment);
  isa::wgmma_fence();
#pragma unroll
  for (int i = 0; i < Slices::products * block_k / 16; ++i) {
    const SlicePair pair = Slices::product(i / (block_k / 16));
    const int k = i % (block_k / 16) * 16;
    isa::wgmma_tile<typename Slices::Element, few_chunks, isa::Major::k, isa::Major::k>(
        fragment, isa::wgmma_further(a, Slices::slice_offset(pair.a, few_chunks) + 2 * k),
        isa::wgmma_further(b, Slices::slice_offset(pair.b, few_chunks) + 2 * k), i != 0);
  }
  isa::wgmma_commit();
  isa::wgmma_wait<0>();
  isa::pin(fragment);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < few_chunks / 2; ++i)
    if (row + i / 2 % 2 * 8 == i / 4 * 8 + lane % 4 * 2 + i % 2) space.sums[row + i / 2 % 2 * 8] = fragment[i];
}

/// By a CTA: the elements of space.places, into C.
template <class Slices>
__device__ inline void sum_elements(FewSpace<Slices>& space, const SplitPair& operands, float tiny_scale,
                                    const Output& c) {
  const int count = space.count;
  const FewShares shares(count);
  find_lines(space, operands);
  const int lane = static_cast<int>(threadIdx.x);  // in the first warp: of an element
  float sum = 0;
  for (int first_k = 0; first_k < operands.a.k; first_k += shares.chunks() * block_k) {
    __syncthreads();
    split_few(space, shares, operands, first_k);
    isa::async_proxy_fence();
    __syncthreads();
    if (threadIdx.x < warpgroup_threads) multiply_few(space);
    __syncthreads();
    const int chunks = min((operands.a.k - first_k + block_k - 1) / block_k, shares.chunks());
    if (lane < count)
      for (int chunk = 0; chunk < chunks; ++chunk) sum += space.sums[lane * shares.chunks() + chunk];
  }
  if (lane >= 32) return;
  const int element = min(lane, count - 1);
  const ElementPlace at = space.places[element];
  const Line row = line_of<Slices>(max_bits_of(operands.a, at.batch, at.row), space.tiny[0][element], tiny_scale);
  const Line column = line_of<Slices>(max_bits_of(operands.b, at.batch, at.column), space.tiny[1][element], tiny_scale);
  float result = scaled_back(sum, row, column);
  unsigned doubtful = __ballot_sync(~0u, lane < count && is_doubtful(sum, row, column));
  if (doubtful != 0 && lane == 0) count_summed(c, doubtful);
  for (; doubtful != 0; doubtful &= doubtful - 1) {
    const int other = __ffs(static_cast<int>(doubtful)) - 1;
    const ElementPlace& its = space.places[other];
    const float summed = warp_sum(operands, its.batch, its.row, its.column);
    if (lane == other) result = summed;
  }
  if (lane >= count) return;
  float* const to = product_base(c.data, c.layout, at.batch) + at.row * c.layout.row_stride;
  c.epilogue.store(to + at.column * c.layout.column_stride, result, at.row, at.column);
}

/// Sums what is listed, and writes the slices of lines that tiles with marks take in.
template <class Slices>
__global__ void __launch_bounds__(split::threads, 4) sum_few(const __grid_constant__ GemmParameters p) {
  isa::wait_for_kernel_before();
  const LeftCount left = *p.left.count;
  if (left.buckets == 0 && left.some_marked == 0) return;
  __shared__ union {
    FewSpace<Slices> few;
    split::Transposed transposed;
  } space;
  if (left.some_marked != 0) split::write_lots<Slices>(p.operands, p.left.lots, space.transposed);
  for (unsigned i = blockIdx.x; i < left.buckets; i += gridDim.x) {
    unsigned next = p.left.heads[p.left.filled[i]];
    while (next != 0) {
      if (threadIdx.x == 0) space.few.take(p.left.few, next);
      __syncthreads();
      next = space.few.next;
      sum_elements(space.few, p.operands, p.tiny_scale, p.out);
      __syncthreads();
    }
  }
}

}  // namespace exactile::cuda::sm90
