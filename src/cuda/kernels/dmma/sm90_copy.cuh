// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the producer warps of sm90_f64_mma fill its pipeline: TMA's boxes, or copies of single elements. T is the
/// kernel's tile.
#pragma once

#include "cuda/isa/mbarrier.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/kernels/dmma/stage.cuh"

namespace exactile::cuda::dmma {

/// Where a producer or a consumer is in the pipeline: a stage, and the parity of its barriers' phase.
struct PipelineState {
  static constexpr std::uint32_t none = ~0u;
  std::uint32_t stage = 0;
  std::uint32_t parity = 0;
  std::uint32_t before = none;  ///< the stage before this one
  template <int Stages>
  __device__ void next() {
    before = stage;
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// The operands as TMA sees them, where they are contiguous and aligned as a stage wants them; the others are copied by
/// elements.
struct Boxes {
  CUtensorMap a;  ///< of 16 rows x 16 of K, or of 8 complex numbers by 8; along K of 16 of K x BM rows
  CUtensorMap b;  ///< of 16 of K x BN columns
  bool has_a;
  bool has_b;
  bool a_is_batched;
  bool b_is_batched;

  [[nodiscard]] __host__ __device__ bool any() const { return has_a || has_b; }
  [[nodiscard]] __host__ __device__ bool all() const { return has_a && has_b; }
  /// How many threads of a warp give a stage back: one is enough; where threads copy, racecheck wants to see every
  /// reader arrive.
  [[nodiscard]] __device__ int arrivals_of_warp() const { return all() ? 1 : 32; }
};

/// Begins the copies of the boxes of one stage.
template <class T>
__device__ void copy_boxes(const Boxes& boxes, const WorkTile& work_tile, int k, char* stage, std::uint64_t* full) {
  const int a_product = boxes.a_is_batched ? static_cast<int>(work_tile.product) : 0;
  const int b_product = boxes.b_is_batched ? static_cast<int>(work_tile.product) : 0;
  const int row = static_cast<int>(work_tile.row);
  const int column = static_cast<int>(work_tile.column);
  isa::mbarrier_arrive_expect(full, T::depth * ((boxes.has_a ? T::a_bytes : 0) + (boxes.has_b ? T::b_bytes : 0)));
#pragma unroll
  for (int d = 0; d < T::depth; ++d, stage += T::block_bytes, k += block_k) {
    if constexpr (T::Warp::has_a_along_k) {
      isa::tma_load(stage, &boxes.a, k, row, a_product, full);
    } else if (boxes.has_a) {
#pragma unroll
      for (int i = 0; i < T::bm; i += 16)
        isa::tma_load(stage + i / 16 * T::a_lines * line_bytes, &boxes.a, row + i, k * T::a_lines / block_k, a_product,
                      full);
    }
    if (boxes.has_b) isa::tma_load(stage + T::a_bytes, &boxes.b, k, column, b_product, full);
  }
}

/// Visits all stages of all work tiles of this block as fast as they are released.
template <class T, class Start, class Fill>
__device__ void for_each_stage(const Parameters& w, std::uint64_t* empty, Start&& start, Fill&& fill) {
  PipelineState state;
  for (std::uint32_t index = blockIdx.x; index < w.work_tiles; index += gridDim.x) {
    const WorkTile work_tile = work_tile_at<T::bm, T::bn, T::band>(w, index);
    const std::int64_t k = k_at(w, work_tile.first_chunk);
    const std::int64_t end = k_at(w, work_tile.end_chunk);
    start(work_tile, k);
    for (std::int64_t p = k; p < end; p += T::stage_k) {
      isa::mbarrier_wait(empty + state.stage, state.parity ^ 1);
      fill(work_tile, p, state.stage);
      state.next<T::stages>();
    }
  }
}

/// The producer warps: one thread if TMA moves both operands, else all.
template <class T>
__device__ void copy_operands(const Parameters& w, const Boxes& boxes, char* stages, std::uint64_t* full,
                              std::uint64_t* empty) {
  if (boxes.all()) {
    if (threadIdx.x != 0) return;
    for_each_stage<T>(
        w, empty, [](const WorkTile&, std::int64_t) {},
        [&](const WorkTile& work_tile, std::int64_t k, std::uint32_t stage) {
          copy_boxes<T>(boxes, work_tile, static_cast<int>(k), stages + stage * T::stage_bytes, full + stage);
        });
    return;
  }
  Filler<Side::a, T::bm> a(w.a, threadIdx.x);
  Filler<Side::b, T::bn> b(w.b, threadIdx.x);
  for_each_stage<T>(
      w, empty,
      [&](const WorkTile& work_tile, std::int64_t k) {
        if (!boxes.has_a) a.start(work_tile.product, work_tile.row, w.m, k, w.k);
        if (!boxes.has_b) b.start(work_tile.product, work_tile.column, w.n, k, w.k);
      },
      [&](const WorkTile& work_tile, std::int64_t k, std::uint32_t index) {
        char* stage = stages + index * T::stage_bytes;
        if (boxes.any() && threadIdx.x == 0) copy_boxes<T>(boxes, work_tile, static_cast<int>(k), stage, full + index);
#pragma unroll 1
        for (int d = 0; d < T::depth; ++d, stage += T::block_bytes) {
          if (!boxes.has_a) a.fill(stage);
          if (!boxes.has_b) b.fill(stage + T::a_bytes);
        }
        isa::mbarrier_arrive_after_copies(full + index);
      });
}

}  // namespace exactile::cuda::dmma
