// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements that the first slices could not hold, where they are few: a CTA sums each of them from A and B, by the
/// products and additions by which a tile would have been summed, to the same bits. So nobody sees how many there were.
///
/// What the tensor cores sum of a chunk of K is the same wherever its factors lie in a tile. So here row r of A's tile
/// is chunk r of the row, column r of B's tile is chunk r of the column, and the chunks' sums are on the diagonal.
#pragma once

#include "cuda/isa/wgmma_tile.cuh"
#include "cuda/kernels/sm90/leftovers.cuh"

namespace exactile::cuda::sm90 {

inline constexpr int few_chunks = 64;  ///< at a time

/// Of a CTA, in shared memory.
template <class Slices>
struct FewSpace {
  alignas(1024) std::byte tile[2][few_chunks * block_bytes<Slices>];  ///< of A, of B
  float sums[few_chunks];
  unsigned tiny[2];
};

/// An element's row of A or column of B.
struct FewLine {
  const float* data;
  std::int64_t stride;
  unsigned max_bits;

  __device__ FewLine(const SplitOperand& operand, int line, int batch)
      : data(product_base(operand.data, operand.layout, batch) + line * operand.layout.row_stride),
        stride(operand.layout.column_stride),
        max_bits(facts_of(operand, batch).max_bits[line]) {}
};

/// Bytes from the beginning of a tile of `few_chunks` rows, swizzled as the tensor cores expect it.
template <class Slices>
[[nodiscard]] __device__ inline int few_offset(int chunk, int k, int slice) {
  static_assert(Slices::row_bytes == 64 && Slices::chunk_stages == 1);
  return Slices::slice_offset(slice, few_chunks) + chunk * Slices::row_bytes + (k / 8 ^ chunk / 2 % 4) * 16 + k % 8 * 2;
}

/// By a CTA: slices of both lines from `first_k` on, and how much tiny is in them.
template <class Slices>
__device__ inline void split_few(FewSpace<Slices>& space, const FewLine (&lines)[2], int first_k, int all_k) {
  constexpr int elements = few_chunks * block_k;
  constexpr int per_thread = (elements + cta_threads - 1) / cta_threads;
  const auto index = [](int i) { return static_cast<int>(threadIdx.x) + i * cta_threads; };
  float x[2][per_thread];
#pragma unroll
  for (int side = 0; side < 2; ++side)
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const int k = first_k + index(i);
      x[side][i] = index(i) < elements && k < all_k ? lines[side].data[k * lines[side].stride] : 0.0f;
    }
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    const float scale = power_of_two(scale_exponent<Slices>(lines[side].max_bits));
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      if (index(i) >= elements) continue;
      typename Slices::Element s[Slices::slices];
      if (const unsigned tiny = Slices::split(x[side][i], x[side][i] * scale, all_k, s); tiny != 0)
        atomicAdd(&space.tiny[side], tiny);
#pragma unroll
      for (int slice = 0; slice < Slices::slices; ++slice)
        *reinterpret_cast<typename Slices::Element*>(
            space.tile[side] + few_offset<Slices>(index(i) / block_k, index(i) % block_k, slice)) = s[slice];
    }
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

/// By a CTA: one element, into C.
template <class Slices>
__device__ inline void sum_element(FewSpace<Slices>& space, const SplitPair& operands, float tiny_scale,
                                   const Output& c, const ElementPlace& at) {
  const FewLine lines[] = {{operands.a, at.row, at.batch}, {operands.b, at.column, at.batch}};
  const int all_k = operands.a.k;
  float sum = 0;
  if (threadIdx.x < 2) space.tiny[threadIdx.x] = 0;
  for (int first_k = 0; first_k < all_k; first_k += few_chunks * block_k) {
    __syncthreads();  // nobody reads what was there
    split_few(space, lines, first_k, all_k);
    isa::async_proxy_fence();
    __syncthreads();
    if (threadIdx.x < warpgroup_threads) multiply_few(space);
    __syncthreads();
    const int chunks = min((all_k - first_k + block_k - 1) / block_k, few_chunks);
    for (int chunk = 0; chunk < chunks; ++chunk) sum += space.sums[chunk];
  }
  if (threadIdx.x >= 32) return;
  const Line row = line_of<Slices>(lines[0].max_bits, space.tiny[0], tiny_scale);
  const Line column = line_of<Slices>(lines[1].max_bits, space.tiny[1], tiny_scale);
  float result = scaled_back(sum, row, column);
  if (is_doubtful(sum, row, column)) {
    result = warp_sum(operands, at.batch, at.row, at.column);
    if (threadIdx.x == 0) count_summed(c, 1);
  }
  if (threadIdx.x != 0) return;
  float* const to = product_base(c.data, c.layout, at.batch) + at.row * c.layout.row_stride;
  c.epilogue.store(to + at.column * c.layout.column_stride, result, at.row, at.column);
}

/// By all CTAs: so many elements.
template <class Slices>
__device__ inline void sum_few(FewSpace<Slices>& space, const SplitPair& operands, float tiny_scale, const Output& c,
                               const ElementPlace* few, unsigned count) {
  for (unsigned i = blockIdx.x; i < count; i += gridDim.x) {
    sum_element(space, operands, tiny_scale, c, few[i]);
    __syncthreads();
  }
}

}  // namespace exactile::cuda::sm90
