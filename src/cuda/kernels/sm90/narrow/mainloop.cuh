// SPDX-License-Identifier: Apache-2.0
/// \file
/// One thread of a CTA loads (TMA), two warpgroups multiply (wgmma). In a cluster each CTA loads its share of the
/// columns of B for both.
#pragma once

#include "cuda/isa/tma.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/narrow/tile.cuh"

namespace exactile::cuda::sm90::narrow {

/// The first row of A, column of B and block of K of a tile, and the products they belong to.
struct LoadPlace {
  int row;
  int column;
  int a_batch;
  int b_batch;
  int first_block;
  int blocks;
};

/// `lines` rows of A or columns of B from `line` on, in block `block` of K. `load` is called with the place in shared
/// memory and the coordinates of each box.
template <class T, Major major, int lines, class Load>
__device__ inline void load_lines(std::byte* shared, int line, int block, Load&& load) {
  if constexpr (major == Major::k) {
    load(shared, block * T::block_k, line);
  } else {
    static_assert(lines % 64 == 0, "boxes along M or N hold 64 lines");
#pragma unroll
    for (int group = 0; group < lines / 64; ++group)
      load(shared + group * T::group_bytes, line + group * 64, block * T::block_k);
  }
}

/// The loading thread's part of one tile.
template <class T>
__device__ inline void load_tile(Ring<T>& ring, RingPlace<T>& at, const CUtensorMap* a, const CUtensorMap* b,
                                 const LoadPlace& place) {
  constexpr int share = T::tile_n / T::cluster;
  const int rank = T::cluster == 1 ? 0 : static_cast<int>(isa::cluster_rank());
  for (int block = place.first_block; block < place.first_block + place.blocks; ++block, at.advance()) {
    isa::mbarrier_wait(&ring.empty[at.stage], at.parity ^ 1);
    std::uint64_t* const full = &ring.full[at.stage];
    isa::mbarrier_arrive_expect(full, T::a_bytes + T::b_bytes);
    Stage<T>& stage = ring.stage[at.stage];
    load_lines<T, T::a_major, T::tile_m>(stage.a, place.row, block, [&](std::byte* shared, int x, int y) {
      isa::tma_load(shared, a, x, y, place.a_batch, full);
    });
    load_lines<T, T::b_major, share>(
        stage.b + rank * share * row_bytes, place.column + rank * share, block, [&](std::byte* shared, int x, int y) {
          if constexpr (T::cluster == 1)
            isa::tma_load(shared, b, x, y, place.b_batch, full);
          else
            isa::tma_load_multicast(shared, b, x, y, place.b_batch, full, (1 << T::cluster) - 1);
        });
  }
}

/// The products of one block, enqueued.
template <class T>
__device__ inline void multiply_block(typename T::Sum (&sums)[T::tile_n / 2], const Stage<T>& stage, int warpgroup,
                                      bool accumulate) {
  constexpr int a_step = T::a_major == Major::k ? 32 : 16 * row_bytes;
  constexpr int b_step = T::b_major == Major::k ? 32 : 16 * row_bytes;
  const std::uint64_t a = isa::wgmma_tile_descriptor<T::a_major>(stage.a + warpgroup * 64 * row_bytes, T::group_bytes);
  const std::uint64_t b = isa::wgmma_tile_descriptor<T::b_major>(stage.b, T::group_bytes);
#pragma unroll
  for (int step = 0; step < T::steps; ++step)
    isa::wgmma_tile<typename T::Element, T::tile_n, T::a_major, T::b_major>(
        sums, a + (step * a_step >> 4), b + (step * b_step >> 4), accumulate || step > 0);
}

/// A multiplying warpgroup's part of one tile: sums = A * B. One block is always in flight behind the one being issued.
template <class T>
__device__ inline void multiply_tile(typename T::Sum (&sums)[T::tile_n / 2], Ring<T>& ring, RingPlace<T>& at,
                                     int warpgroup, int blocks) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto release = [&](int stage) {
    if (lane < T::cluster) isa::mbarrier_arrive_remote(&ring.empty[stage], lane);
  };
  int before = -1;
  for (int block = 0; block < blocks; ++block) {
    isa::mbarrier_wait(&ring.full[at.stage], at.parity);
    isa::pin_sums(sums);
    isa::wgmma_fence();
    multiply_block<T>(sums, ring.stage[at.stage], warpgroup, block > 0);
    isa::wgmma_commit();
    isa::wgmma_wait<1>();
    if (before >= 0) release(before);
    before = at.stage;
    at.advance();
  }
  isa::wgmma_wait<0>();
  isa::pin_sums(sums);
  release(before);
}

}  // namespace exactile::cuda::sm90::narrow
