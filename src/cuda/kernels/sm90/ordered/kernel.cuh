// SPDX-License-Identifier: Apache-2.0
/// \file
/// A CTA has some rows of the operand that is split ahead, and 32 columns of the other one, W. Its warps, and the CTAs
/// of its cluster, take chunks of K in turn. Round by round the chunks' sums meet in shared memory, where every CTA
/// adds those of its share of the elements, in order: bits do not depend on who summed a chunk.
#pragma once

#include "cuda/kernels/sm90/ordered/multiply_chunk.cuh"

namespace exactile::cuda::sm90::ordered {

/// What a thread adds: elements `threads` apart, of its CTA's share of the tile.
template <int most_each>
struct ElementSums {
  int first;  ///< of the share, in the tile
  float sum[most_each] = {};

  __device__ ElementSums(const Stages& stages, const Place& place) : first(place.rank * stages.share) {}
  [[nodiscard]] __device__ static int in_share(int i) { return static_cast<int>(threadIdx.x) + i * threads; }

  /// So many chunks, in order.
  __device__ void add(const Stages& stages, int turn, int chunks) {
    if (stages.share <= threads) {
      if (in_share(0) < stages.share) add_to<16>(0, stages, turn, chunks);
      return;
    }
#pragma unroll
    for (int i = 0; i < most_each; ++i)
      if (in_share(i) < stages.share) add_to<chunks_at_once>(i, stages, turn, chunks);
  }

 private:
  template <int at_once>
  __device__ void add_to(int i, const Stages& stages, int turn, int chunks) {
    const float* const from = stages.sum_at(turn, 0, in_share(i));
    const int pitch = stages.chunk_pitch();
#pragma unroll 1
    for (int first = 0; first < chunks; first += at_once) {
      float x[at_once];
#pragma unroll
      for (int c = 0; c < at_once; ++c) x[c] = first + c < chunks ? from[(first + c) * pitch] : 0.0f;
#pragma unroll
      for (int c = 0; c < at_once; ++c)
        if (first + c < chunks) sum[i] += x[c];
    }
  }
};

/// By a CTA: C's elements but those that slices cannot hold, which it lists.
template <bool few_is_a, int most_each>
__device__ inline void store_sums(Shared& shared, const Parameters& p, const Place& place, int share,
                                  const ElementSums<most_each>& sums) {
  const VectorScales of_few = scales_of(p.few, place.batch);
  const OperandLayout& c = p.out.layout;
  float* const base = product_base(p.out.data, c, place.batch);
#pragma unroll
  for (int i = 0; i < most_each; ++i) {
    const int e = sums.first + sums.in_share(i);
    const int row = place.row + e / tile_columns;
    const int column = place.column + e % tile_columns;
    if (sums.in_share(i) >= share || row >= p.few.rows || column >= p.wide.rows) continue;
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
template <bool few_is_a, Reading reading, int ctas_of_sm>
__global__ void __launch_bounds__(threads, ctas_of_sm) multiply_in_order(const __grid_constant__ Parameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  __shared__ Shared shared;
  const Place place(p);
  const Stages stages(dynamic, p.rows, place.ranks);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const ChunkWarps chunk_warps;
  const int of_chunks = chunk_warps.chunk;
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

  const auto chunks_of = [&](int round) {
    return min(place.ranks * chunks_at_once, p.chunks - round * place.ranks * chunks_at_once);
  };

  WideReader<reading> reader = read_first();  // W was there before the kernel that splits the other operand began
  if (threadIdx.x < tile_columns) shared.guess[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    shared.listed = 0;
    for (int i = 0; i < 2; ++i) {
      isa::mbarrier_init(&shared.full[i], place.ranks > 1 ? 1 : threads / 32);
      isa::mbarrier_init(&shared.empty[i], place.ranks * threads / 32);
    }
    isa::mbarrier_init_fence();
  }
  __syncthreads();
  constexpr int half = ScaleSample::most_blocks / 2;
  if (half * p.wide.sample.step() * block_k >= p.wide.k) {
    guess_scales<reading, half>(shared, p, place);
  } else {
    guess_scales<reading, 2 * half>(shared, p, place);
  }
  using Sums = ElementSums<most_rows / ctas_of_sm * tile_columns / threads>;
  Sums sums(stages, place);
  int turn = 0;  // rounds so far
  std::uint32_t empty_parity = 0;
  while (true) {
    if (threadIdx.x < tile_columns)
      shared.most[threadIdx.x] = shared.underflows[threadIdx.x] = shared.most_of_all[threadIdx.x] =
          shared.underflows_of_all[threadIdx.x] = 0;
    __syncthreads();
    place.arrive();
    place.wait();
    if (turn == 0) isa::wait_for_kernel_before();
    chunk_warps.fetch_few(stages, p, place, 0);
    const LaneScales scales(&shared.guess[column]);
    const Found found{&shared.most[column], &shared.underflows[column]};
#pragma unroll 1
    for (int round = 0; round <= rounds; ++round) {
      WideSlices wide;
      const bool is_there = round < rounds && terms_of(round) > 0;
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
      chunk_warps.sync();
      if (round + 1 < rounds) chunk_warps.fetch_few(stages, p, place, round + 1);
      std::uint64_t* const full = &shared.full[turn % 2];
      if (round < rounds) {
        if (place.ranks > 1 && threadIdx.x == 0)
          isa::mbarrier_arrive_expect(full, chunks_of(round) * stages.share * sizeof(float));
        if (round >= 2) {
          isa::mbarrier_wait(&shared.empty[turn % 2], empty_parity >> turn % 2 & 1);
          empty_parity ^= 1u << turn % 2;
        }
      }
      if (is_there)
        multiply_chunk<few_is_a, 4 / ctas_of_sm>(
            ChunkSums{stages, full, turn, place.rank * chunks_at_once + of_chunks, column, place.ranks},
            stages.few_at(round, of_chunks), p.rows, wide);
      if (place.ranks == 1 && round < rounds) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) isa::mbarrier_arrive(full);
      }
      if (round > 0) {
        isa::mbarrier_wait(&shared.full[(turn - 1) % 2], (turn - 1) / 2 % 2);
        sums.add(stages, turn - 1, chunks_of(round - 1));
        if (round + 1 < rounds) {
          __syncwarp();
          const int lane = static_cast<int>(threadIdx.x) % 32;
          if (lane < place.ranks) isa::mbarrier_arrive_remote(&shared.empty[(turn - 1) % 2], lane);
        }
      }
      if (round < rounds) ++turn;
    }
    __syncthreads();
    tell_found(shared, place);
    place.arrive();
    place.wait();
    if (!has_misled(shared, p, place)) break;
    sums = Sums(stages, place);
    reader = read_first();
  }
  store_sums<few_is_a>(shared, p, place, stages.share, sums);
  __syncthreads();
  fix_up<few_is_a>(reinterpret_cast<FixupShared<Bf16x6>&>(dynamic), shared, p, place);
}

}  // namespace exactile::cuda::sm90::ordered
