// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel around main loop and epilogue: persistent, each cluster takes every so-manieth tile.
#pragma once

#include "cuda/kernels/sm90/epilogue.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"

namespace exactile::cuda::sm90 {

struct GemmParameters {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap c;
  TileOrder order;
  int blocks;          ///< of block_k
  SplitPair operands;  ///< with A's rows down C, B's across
  float tiny_scale;
  Output out;
  Leftovers left;
};

/// Facts of one product's lines; an operand that all products share has them once.
[[nodiscard]] __device__ inline LineFacts facts_of(const SplitOperand& operand, int batch) {
  const std::int64_t first = static_cast<std::int64_t>(operand.batches == 1 ? 0 : batch) * operand.facts_pitch;
  return {operand.facts.max_bits + first, operand.facts.tiny + first};
}

template <class Slices, Turn turn>
struct Shared {
  // Two buffers for TMA to store from, where the ring leaves room for them.
  static constexpr bool is_first = turn == Turn::first;
  Ring<Slices> ring;
  StoreSpace<is_first ? 32 : 16, is_first ? 2 : 1> space[consumers];
};

template <class Slices, Turn turn>
__global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(cta_threads, 1)
    multiply(const __grid_constant__ GemmParameters p) {
  if constexpr (turn == Turn::leftovers) {
    isa::wait_for_kernel_before();
    if (*p.left.any == 0) return;
  }
  extern __shared__ __align__(1024) std::byte dynamic[];
  auto& shared = *reinterpret_cast<Shared<Slices, turn>*>(dynamic);
  const int rank = static_cast<int>(isa::cluster_rank());
  const int warpgroup = static_cast<int>(threadIdx.x) / warpgroup_threads;
  const int clusters = static_cast<int>(gridDim.x) / cluster;

  if (threadIdx.x == 0) shared.ring.initialise();
  isa::cluster_sync();
  if constexpr (turn != Turn::leftovers) isa::wait_for_kernel_before();

  RingPlace<Slices> at;
  if (warpgroup == consumers) {
    isa::registers_give<40>();
    if (threadIdx.x == consumers * warpgroup_threads) {
      for (int tile = blockIdx.x / cluster; tile < p.order.count(); tile += clusters) {
        if constexpr (turn == Turn::leftovers)
          if ((p.left.warps[tile * cluster] | p.left.warps[tile * cluster + 1]) == 0) continue;
        const TilePlace place = p.order(tile);
        load_tile(shared.ring, at, &p.a, &p.b, (place.row * cluster + rank) * tile_m, place.column * tile_n,
                  p.operands.a.batches == 1 ? 0 : place.batch, p.operands.b.batches == 1 ? 0 : place.batch, p.blocks);
      }
    }
  } else {
    isa::registers_take<232>();
    Sums sums;
    for (int tile = blockIdx.x / cluster; tile < p.order.count(); tile += clusters) {
      const int cta_tile = tile * cluster + rank;
      if constexpr (turn == Turn::leftovers)
        if ((p.left.warps[tile * cluster] | p.left.warps[tile * cluster + 1]) == 0) continue;
      const TilePlace place = p.order(tile);
      const SumPlace sum_place{(place.row * cluster + rank) * tile_m + warpgroup * 64, place.column * tile_n,
                               place.batch, static_cast<int>(threadIdx.x) % warpgroup_threads / 32,
                               static_cast<int>(threadIdx.x) % 32};
      const ProductFacts facts{facts_of(p.operands.a, place.batch), facts_of(p.operands.b, place.batch), p.tiny_scale};
      auto& space = shared.space[warpgroup];
      load_columns<Slices>(space.lines, facts, sum_place.column, 1 + warpgroup);
      multiply_tile(sums, shared.ring, at, warpgroup, p.blocks);
      unsigned marks[4] = {};
      if constexpr (turn == Turn::leftovers) read_marks(marks, p.left, cta_tile, warpgroup, sum_place.warp);
      store_tile<Slices, turn>(sums, p.out, &p.c, space, sum_place, 1 + warpgroup, facts, p.operands, marks);
      if constexpr (turn == Turn::first) write_marks(marks, p.left, cta_tile, warpgroup, sum_place.warp);
    }
    if constexpr (turn == Turn::first) isa::tma_store_wait_read<0>();
  }
  // Nobody leaves while the other CTA still loads into it or arrives at its barriers.
  isa::cluster_sync();
}

}  // namespace exactile::cuda::sm90
