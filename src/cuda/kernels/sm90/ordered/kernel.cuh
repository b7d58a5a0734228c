// SPDX-License-Identifier: Apache-2.0
/// \file
/// A CTA has some rows of the operand that is split ahead, and 32 columns of the other one, W. Its warps, and the CTAs
/// of its cluster, take chunks of K in turn. Round by round the chunks' sums meet in shared memory, where every CTA
/// adds those of its share of the elements, in order: bits do not depend on who summed a chunk.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/sm90/ordered/column_scales.cuh"

namespace exactile::cuda::sm90::ordered {

/// By a CTA: starts the copies of its rows' slices of a round's chunks.
__device__ inline void fetch_few(const Stages& stages, const Parameters& p, const Place& place, int round) {
  constexpr int pieces = chunk_bytes / 16;
  const SplitOperand& o = p.few;
  const int row_bytes = blocks_of<Fp16x3>(o.k) * block_bytes<Fp16x3>;
  const int piece = static_cast<int>(threadIdx.x) % pieces * 16;
  const std::byte* const from = static_cast<const std::byte*>(o.slices) +
                                (std::int64_t{o.batches == 1 ? 0 : place.batch} * o.rows + place.row) * row_bytes +
                                place.first_chunk(round) * chunk_bytes + piece;
  std::byte* const to = stages.few_at(round, 0) + piece;
#pragma unroll 1
  for (int line = static_cast<int>(threadIdx.x) / pieces; line < chunks_at_once * p.rows; line += threads / pieces) {
    const int chunk = line >> p.rows_log;
    const int row = line & (p.rows - 1);
    const bool is_there = place.first_chunk(round) + chunk < p.chunks && place.row + row < o.rows;
    isa::copy_async<16>(to + line * few_pitch,
                        is_there ? from + std::int64_t{row} * row_bytes + chunk * chunk_bytes : from,
                        is_there ? 16 : 0);
  }
  isa::copy_async_commit();
}

/// By a warp: the sums of a chunk, of all rows and its columns, the small products first, as multiply_chunk() does.
template <bool few_is_a>
__device__ inline void multiply_chunk(float* sums, const std::byte* few, int rows, const WideSlices& wide) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
  for (int first = 0; first < rows; first += group_rows) {
    std::uint32_t slices[Fp16x3::slices][steps][2];
#pragma unroll
    for (int block = 0; block < Fp16x3::chunk_stages; ++block)
#pragma unroll
      for (int slice = 0; slice < Fp16x3::slices; ++slice) {
        std::uint32_t two_steps[4];
        isa::load_matrices(two_steps, few + (first + lane % 8) * few_pitch + block * block_bytes<Fp16x3> +
                                          Fp16x3::slice_offset(slice, 0) + lane / 8 * 16);
#pragma unroll
        for (int i = 0; i < 4; ++i) slices[slice][2 * block + i / 2][i % 2] = two_steps[i];
      }
    float d[4] = {};
#pragma unroll
    for (int product = 0; product < Fp16x3::products; ++product) {
      const SlicePair pair = Fp16x3::product(product);
      const auto& of_wide = wide[few_is_a ? pair.b : pair.a];
      const auto& of_few = slices[few_is_a ? pair.a : pair.b];
#pragma unroll
      for (int s = 0; s < steps; ++s)
        isa::mma<__half>(d, {of_wide[s][0][0], of_wide[s][1][0], of_wide[s][0][1], of_wide[s][1][1]}, of_few[s]);
    }
    float* const to = sums + (first + lane % 4 * 2) * sums_pitch + lane / 4 * lane_columns;
    *reinterpret_cast<float2*>(to) = make_float2(d[0], d[2]);
    *reinterpret_cast<float2*>(to + sums_pitch) = make_float2(d[1], d[3]);
  }
}

/// What a thread adds: elements `threads` apart, of its CTA's share of the tile.
struct ElementSums {
  int first;
  int end;
  float sum[most_each] = {};

  __device__ ElementSums(const Parameters& p, const Place& place) {
    const int share = p.rows * tile_columns / place.ranks;
    first = place.rank * share + static_cast<int>(threadIdx.x);
    end = (place.rank + 1) * share;
  }
  /// A round's chunks, in order.
  __device__ void add(const Stages& stages, const Parameters& p, const Place& place, int round) {
    const int first_chunk = round * place.ranks * chunks_at_once;
#pragma unroll
    for (int i = 0; i < most_each; ++i) {
      const int e = first + i * threads;
      if (e >= end) break;
      const float* const own = stages.sums_at(round, 0) + e / tile_columns * sums_pitch + e % tile_columns;
#pragma unroll 4
      for (int rank = 0; rank < place.ranks; ++rank) {
        const float* const from = place.ranks > 1 ? isa::of_cta(own, rank) : own;
        const int chunks = p.chunks - first_chunk - rank * chunks_at_once;
#pragma unroll
        for (int c = 0; c < chunks_at_once; ++c)
          if (c < chunks) sum[i] += from[c * p.rows * sums_pitch];
      }
    }
  }
};

/// By a CTA: C's elements but those that slices cannot hold, which it lists.
template <bool few_is_a>
__device__ inline void store_sums(Shared& shared, const Parameters& p, const Place& place, const ElementSums& sums) {
  const VectorScales of_few = scales_of(p.few, place.batch);
  const OperandLayout& c = p.out.layout;
  float* const base = product_base(p.out.data, c, place.batch);
#pragma unroll
  for (int i = 0; i < most_each; ++i) {
    const int e = sums.first + i * threads;
    const int row = place.row + e / tile_columns;
    const int column = place.column + e % tile_columns;
    if (e >= sums.end || row >= p.few.rows || column >= p.wide.rows) continue;
    const PackedScale scale = packed_scale<Fp16x3>(of_few.max_bits[row], of_few.underflows[row], p.underflow_scale);
    const PackedScale of_column = shared.scale[e % tile_columns];
    if (needs_fixup(sums.sum[i], scale, of_column, p.most_element_error)) {
      shared.list[atomicAdd(&shared.listed, 1)] = static_cast<unsigned short>(e);
    } else {
      const int m = few_is_a ? row : column;
      const int n = few_is_a ? column : row;
      p.out.epilogue.store(base + m * c.row_stride + n * c.column_stride, scaled_back(sums.sum[i], scale, of_column), m,
                           n);
    }
  }
}

/// By a CTA: the elements that are listed.
template <bool few_is_a>
__device__ inline void fix_up(FixupShared<Bf16x6>& space, const Shared& shared, const Parameters& p,
                              const Place& place) {
  const SplitPair operands = few_is_a ? SplitPair{p.few, p.wide} : SplitPair{p.wide, p.few};
#pragma unroll 1
  for (int first = 0; first < shared.listed; first += Buckets::mn_count) {
    __syncthreads();
    const int index = first + static_cast<int>(threadIdx.x);
    if (threadIdx.x == 0) space.count = min(shared.listed - first, Buckets::mn_count);
    if (threadIdx.x < Buckets::mn_count && index < shared.listed) {
      const int row = place.row + shared.list[index] / tile_columns;
      const int column = place.column + shared.list[index] % tile_columns;
      space.places[threadIdx.x] =
          few_is_a ? ElementCoord{row, column, place.batch} : ElementCoord{column, row, place.batch};
    }
    __syncthreads();
    sum_elements<Bf16x6>(space, operands, p.underflow_scale_again, p.out);
  }
}

/// `few_is_a`: the operand that is split ahead is A, else it is B.
template <bool few_is_a, Reading reading>
__global__ void __launch_bounds__(threads, 2) multiply_in_order(const __grid_constant__ Parameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  __shared__ Shared shared;
  const Place place(p);
  const Stages stages(dynamic, p.rows);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int of_chunks = warp / column_warps;
  const int column = warp % column_warps * warp_columns + static_cast<int>(threadIdx.x) % 32 / 4 * lane_columns;
  const int rounds = (p.chunks + place.ranks * chunks_at_once - 1) / (place.ranks * chunks_at_once);
  Elements x[steps];
  const auto terms_of = [&](int round) { return p.wide.k - (place.first_chunk(round) + of_chunks) * chunk_terms; };
  const auto read_first = [&] {
    WideReader<reading> reader(p.wide, place.batch, place.column + column, place.first_chunk(0) + of_chunks);
    if (terms_of(0) >= chunk_terms)
#pragma unroll
      for (int s = 0; s < steps; ++s) reader.load(x[s]);
    return reader;
  };

  WideReader<reading> reader = read_first();  // W was there before the kernel that splits the other operand began
  if (threadIdx.x < tile_columns) shared.guess[threadIdx.x] = 0;
  if (threadIdx.x == 0) shared.listed = 0;
  __syncthreads();
  guess_scales<reading>(shared, p, place);
  isa::wait_for_kernel_before();
  ElementSums sums(p, place);
  while (true) {
    fetch_few(stages, p, place, 0);
    if (threadIdx.x < tile_columns) shared.most[threadIdx.x] = shared.underflows[threadIdx.x] = 0;
    __syncthreads();
    const LaneScales scales(&shared.guess[column]);
    const Found found{&shared.most[column], &shared.underflows[column]};
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      WideSlices wide;
      const bool is_there = terms_of(round) > 0;
      if (is_there) {
        if (terms_of(round) < chunk_terms) reader.load_partial(x, terms_of(round));
        reader.skip(place.ranks * chunks_at_once - 1);
        const bool reads_ahead = terms_of(round + 1) >= chunk_terms;
#pragma unroll
        for (int s = 0; s < steps; ++s) {
          split_step(wide, x[s], s, p.wide.k, scales, found);
          if (reads_ahead) reader.load(x[s]);
        }
      }
      isa::copy_async_wait<0>();
      round > 0 ? place.wait() : __syncthreads();
      if (round + 1 < rounds) fetch_few(stages, p, place, round + 1);
      if (is_there)
        multiply_chunk<few_is_a>(stages.sums_at(round, of_chunks) + warp % column_warps * warp_columns,
                                 stages.few_at(round, of_chunks), p.rows, wide);
      if (round > 0) sums.add(stages, p, place, round - 1);
      place.arrive();
    }
    place.wait();
    sums.add(stages, p, place, rounds - 1);
    if (!has_misled(shared, p, place)) break;
    sums = ElementSums(p, place);
    reader = read_first();
  }
  store_sums<few_is_a>(shared, p, place, sums);
  __syncthreads();
  fix_up<few_is_a>(reinterpret_cast<FixupShared<Bf16x6>&>(dynamic), shared, p, place);
}

}  // namespace exactile::cuda::sm90::ordered
