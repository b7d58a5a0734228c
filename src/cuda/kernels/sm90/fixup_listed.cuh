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

inline constexpr int fixup_chunks = 64;  ///< at a time, of all elements together

/// An element's row of A or column of B.
struct FixupVector {
  const float* data;
  float scale;
};

/// Of a CTA, in shared memory.
template <class Slices>
struct FixupShared {
  static constexpr int most_elements = Buckets::mn_count;               ///< together
  alignas(1024) std::byte tile[2][fixup_chunks * block_bytes<Slices>];  ///< of A, of B
  float sums[fixup_chunks];
  FixupVector vectors[2][most_elements];
  unsigned underflows[2][most_elements];
  ElementCoord places[most_elements];
  int count;      ///< of elements
  unsigned next;  ///< of the bucket

  /// By one thread: elements of a bucket from that one on.
  __device__ void take(const FixupElement* list, unsigned first) {
    count = 0;
    for (next = first; next != 0 && count < most_elements; next = list[next - 1].next)
      places[count++] = list[next - 1].place;
  }
};

/// How the chunks of one pass are divided: a power of two for each element, its first ones first.
struct FixupShares {
  int chunks_log;

  __device__ explicit FixupShares(int elements)
      : chunks_log(elements > 4   ? 3
                   : elements > 2 ? 4
                   : elements > 1 ? 5
                                  : 6) {
    static_assert(fixup_chunks == 1 << 6);
  }
  [[nodiscard]] __device__ int chunks() const { return 1 << chunks_log; }
  [[nodiscard]] __device__ int element(int chunk) const { return chunk >> chunks_log; }
  [[nodiscard]] __device__ int within(int chunk) const { return chunk & (chunks() - 1); }
};

[[nodiscard]] __device__ inline unsigned max_bits_of(const SplitOperand& operand, int batch, int mn) {
  return scales_of(operand, batch).max_bits[mn];
}

/// By a CTA: the scales of the rows and columns, before they are read.
template <class Slices>
__device__ inline void find_scales(FixupShared<Slices>& space, const SplitPair& operands) {
  constexpr int each = FixupShared<Slices>::most_elements;
  const int side = static_cast<int>(threadIdx.x) / each;
  const int element = static_cast<int>(threadIdx.x) % each;
  if (side > 1 || element >= space.count) return;
  const SplitOperand& operand = side == 0 ? operands.a : operands.b;
  const ElementCoord& at = space.places[element];
  const int mn = side == 0 ? at.row : at.column;
  space.vectors[side][element] = {product_base(operand.data, operand.layout, at.batch) + mn * operand.layout.row_stride,
                                  power_of_two(scale_exponent<Slices>(max_bits_of(operand, at.batch, mn)))};
  space.underflows[side][element] = 0;
}

/// Bytes from the beginning of a tile of `fixup_chunks` rows, swizzled as the tensor cores expect it.
template <class Slices>
[[nodiscard]] __device__ inline int fixup_offset(int chunk, int k, int slice) {
  static_assert(Slices::row_bytes == 64 && Slices::chunk_stages == 1);
  return Slices::slice_offset(slice, fixup_chunks) + chunk * Slices::row_bytes + (k / 8 ^ chunk / 2 % 4) * 16 +
         k % 8 * 2;
}

/// By a CTA: slices of all rows and columns from `first_k` on, and how much tiny is in them.
template <class Slices>
__device__ inline void split_for_fixup(FixupShared<Slices>& space, const FixupShares& shares, const SplitPair& operands,
                                       int first_k) {
  constexpr int per_thread = fixup_chunks * block_k / split::threads;
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
      x[side][i] = element < count && k < all_k ? space.vectors[side][element].data[k * stride] : 0.0f;
    }
  }
#pragma unroll
  for (int side = 0; side < 2; ++side)
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const int element = shares.element(chunk_of(i));
      const float scale = element < count ? space.vectors[side][element].scale : 0.0f;
      typename Slices::Element s[Slices::slices];
      const unsigned underflows = __reduce_add_sync(~0u, Slices::split(x[side][i], x[side][i] * scale, all_k, s));
      if (underflows != 0 && threadIdx.x % 32 == 0) atomicAdd(&space.underflows[side][element], underflows);
#pragma unroll
      for (int slice = 0; slice < Slices::slices; ++slice)
        *reinterpret_cast<typename Slices::Element*>(space.tile[side] +
                                                     fixup_offset<Slices>(chunk_of(i), in_chunk, slice)) = s[slice];
    }
}

/// By a warpgroup: the chunks' sums, in the order of multiply_chunk().
template <class Slices>
__device__ inline void multiply_for_fixup(FixupShared<Slices>& space) {
  const std::uint64_t a = isa::wgmma_uniform(isa::wgmma_descriptor<Slices::row_bytes>(space.tile[0]));
  const std::uint64_t b = isa::wgmma_uniform(isa::wgmma_descriptor<Slices::row_bytes>(space.tile[1]));
  float fragment[fixup_chunks / 2];
  isa::pin(fragment);
  isa::wgmma_fence();
#pragma unroll
  for (int i = 0; i < Slices::products * block_k / 16; ++i) {
    const SlicePair pair = Slices::product(i / (block_k / 16));
    const int k = i % (block_k / 16) * 16;
    isa::wgmma_tile<typename Slices::Element, fixup_chunks, isa::Major::k, isa::Major::k>(
        fragment, isa::wgmma_further(a, Slices::slice_offset(pair.a, fixup_chunks) + 2 * k),
        isa::wgmma_further(b, Slices::slice_offset(pair.b, fixup_chunks) + 2 * k), i != 0);
  }
  isa::wgmma_commit();
  isa::wgmma_wait<0>();
  isa::pin(fragment);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < fixup_chunks / 2; ++i)
    if (row + i / 2 % 2 * 8 == i / 4 * 8 + lane % 4 * 2 + i % 2) space.sums[row + i / 2 % 2 * 8] = fragment[i];
}

/// By a CTA: the elements of space.places, into C.
template <class Slices>
__device__ inline void sum_elements(FixupShared<Slices>& space, const SplitPair& operands, float underflow_scale,
                                    const Output& c) {
  const int count = space.count;
  const FixupShares shares(count);
  find_scales(space, operands);
  const int lane = static_cast<int>(threadIdx.x);  // in the first warp: of an element
  float sum = 0;
  for (int first_k = 0; first_k < operands.a.k; first_k += shares.chunks() * block_k) {
    __syncthreads();
    split_for_fixup(space, shares, operands, first_k);
    isa::async_proxy_fence();
    __syncthreads();
    if (threadIdx.x < warpgroup_threads) multiply_for_fixup(space);
    __syncthreads();
    const int chunks = min((operands.a.k - first_k + block_k - 1) / block_k, shares.chunks());
    if (lane < count)
      for (int chunk = 0; chunk < chunks; ++chunk) sum += space.sums[lane * shares.chunks() + chunk];
  }
  if (lane >= 32) return;
  const int element = min(lane, count - 1);
  const ElementCoord at = space.places[element];
  const PackedScale row =
      packed_scale<Slices>(max_bits_of(operands.a, at.batch, at.row), space.underflows[0][element], underflow_scale);
  const PackedScale column =
      packed_scale<Slices>(max_bits_of(operands.b, at.batch, at.column), space.underflows[1][element], underflow_scale);
  float result = scaled_back(sum, row, column);
  unsigned to_fix = __ballot_sync(~0u, lane < count && needs_fixup(sum, row, column));
  if (to_fix != 0 && lane == 0) count_f32_sums(c, __popc(to_fix));
  for (; to_fix != 0; to_fix &= to_fix - 1) {
    const int other = __ffs(static_cast<int>(to_fix)) - 1;
    const ElementCoord& its = space.places[other];
    const float summed = warp_sum(operands, its.batch, its.row, its.column);
    if (lane == other) result = summed;
  }
  if (lane >= count) return;
  float* const to = product_base(c.data, c.layout, at.batch) + at.row * c.layout.row_stride;
  c.epilogue.store(to + at.column * c.layout.column_stride, result, at.row, at.column);
}

/// Sums what is listed, and writes the slices of the blocks that tiles with marks take in.
template <class Slices>
__global__ void __launch_bounds__(split::threads, 4) fix_up_listed(const __grid_constant__ GemmParameters p) {
  isa::wait_for_kernel_before();
  const FixupCount fixup = *p.fixup.count;
  if (fixup.buckets == 0 && fixup.some_marked == 0) return;
  __shared__ union {
    FixupShared<Slices> list;
    split::Transposed transposed;
  } space;
  if (fixup.some_marked != 0) split::write_fixup_slices<Slices>(p.operands, p.fixup.fixup_blocks, space.transposed);
  for (unsigned i = blockIdx.x; i < fixup.buckets; i += gridDim.x) {
    unsigned next = p.fixup.heads[p.fixup.filled[i]];
    while (next != 0) {
      if (threadIdx.x == 0) space.list.take(p.fixup.list, next);
      __syncthreads();
      next = space.list.next;
      sum_elements(space.list, p.operands, p.underflow_scale, p.out);
      __syncthreads();
    }
  }
}

}  // namespace exactile::cuda::sm90
