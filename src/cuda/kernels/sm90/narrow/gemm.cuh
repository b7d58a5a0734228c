// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel around main loop and output: persistent, each cluster takes every so-manieth tile.
#pragma once

#include <algorithm>

#include "cuda/kernels/sm90/narrow/mainloop.cuh"
#include "cuda/kernels/sm90/narrow/product.hpp"
#include "cuda/runtime/shared_memory.hpp"

namespace exactile::cuda::sm90::narrow {

template <class T>
struct Shared {
  Ring<T> ring;
  Staging staging[T::consumers][2];
};

template <class T>
__device__ inline void meet() {
  if constexpr (T::cluster == 1) {
    __syncthreads();
  } else {
    isa::cluster_sync();
  }
}

template <class T>
__global__ void __cluster_dims__(T::cluster, 1, 1) __launch_bounds__(T::cta_threads, 1)
    multiply(const __grid_constant__ Parameters<typename T::Sum> p) {
  extern __shared__ std::byte dynamic[];
  // The same place in all CTAs of a cluster, as multicast needs it: all begin at the same address.
  auto& shared = *reinterpret_cast<Shared<T>*>(dynamic + (1024 - isa::shared_address(dynamic) % 1024) % 1024);
  const int rank = T::cluster == 1 ? 0 : static_cast<int>(isa::cluster_rank());
  const int warpgroup = static_cast<int>(threadIdx.x) / warpgroup_threads;
  const int clusters = static_cast<int>(gridDim.x) / T::cluster;
  const auto blocks_of = [&](int chunk) { return min(p.chunk_blocks, p.blocks - chunk * p.chunk_blocks); };

  if (threadIdx.x == 0) shared.ring.initialise();
  meet<T>();

  RingPlace<T> at;
  if (warpgroup == T::consumers) {
    isa::registers_give<40>();
    if (threadIdx.x == T::consumers * warpgroup_threads) {
      for (int tile = blockIdx.x / T::cluster; tile < p.order.count(); tile += clusters) {
        const TilePlace place = p.order(tile);
        const int product = place.batch / p.chunks;
        const int chunk = place.batch % p.chunks;
        load_tile<T>(shared.ring, at, &p.a, &p.b,
                     {.row = (place.row * T::cluster + rank) * T::tile_m,
                      .column = place.column * T::tile_n,
                      .a_batch = p.a_is_shared ? 0 : product,
                      .b_batch = p.b_is_shared ? 0 : product,
                      .first_block = chunk * p.chunk_blocks,
                      .blocks = blocks_of(chunk)});
      }
    }
  } else {
    isa::registers_take<232>();
    typename T::Sum sums[T::tile_n / 2];
    for (int tile = blockIdx.x / T::cluster; tile < p.order.count(); tile += clusters) {
      const TilePlace place = p.order(tile);
      multiply_tile<T>(sums, shared.ring, at, warpgroup, blocks_of(place.batch % p.chunks));
      store_tile<T>(sums, p.out, &p.c, shared.staging[warpgroup],
                    {.row = (place.row * T::cluster + rank) * T::tile_m + warpgroup * 64,
                     .column = place.column * T::tile_n,
                     .batch = place.batch,
                     .warp = static_cast<int>(threadIdx.x) % warpgroup_threads / 32,
                     .lane = static_cast<int>(threadIdx.x) % 32},
                    1 + warpgroup);
    }
    isa::tma_store_wait_read<0>();
  }
  // Nobody leaves while another CTA still loads into it or arrives at its barriers.
  meet<T>();
}

template <class T>
[[nodiscard]] Status enqueue_tile(const Parameters<typename T::Sum>& p, const Device& device, std::string_view kernel,
                                  cudaStream_t stream) {
  constexpr int shared_bytes = sizeof(Shared<T>) + 1024;
  const auto function = multiply<T>;
  if (Status s = allow_shared_memory(function, shared_bytes, kernel); !s.ok()) return s;
  const int ctas = std::min(p.order.count(), device.multiprocessors / T::cluster) * T::cluster;
  function<<<static_cast<unsigned>(ctas), T::cta_threads, shared_bytes, stream>>>(p);
  return check_launch(kernel);
}

/// The kernels of a type; see takes_along_lines(), which holds for 16 bits only.
template <class In, int n>
[[nodiscard]] Status enqueue_tiles_of(const Parameters<DeviceSum<In>>& p, Major a, Major b, const Device& device,
                                      std::string_view kernel, cudaStream_t stream) {
  const auto enqueue = [&]<Major a_major, Major b_major>() {
    return enqueue_tile<Tile<In, n, a_major, b_major>>(p, device, kernel, stream);
  };
  if constexpr (sizeof(In) == 2) {
    if constexpr (takes_along_lines(true, n) && takes_along_lines(false, n))
      if (a == Major::mn && b == Major::mn) return enqueue.template operator()<Major::mn, Major::mn>();
    if constexpr (takes_along_lines(true, n))
      if (a == Major::mn) return enqueue.template operator()<Major::mn, Major::k>();
    if constexpr (takes_along_lines(false, n))
      if (b == Major::mn) return enqueue.template operator()<Major::k, Major::mn>();
  }
  return enqueue.template operator()<Major::k, Major::k>();
}

template <class In>
Status enqueue_tiles(const Parameters<DeviceSum<In>>& p, int tile_n, Major a, Major b, const Device& device,
                     std::string_view kernel, cudaStream_t stream) {
  switch (tile_n) {
    case 256: return enqueue_tiles_of<In, 256>(p, a, b, device, kernel, stream);
    case 128: return enqueue_tiles_of<In, 128>(p, a, b, device, kernel, stream);
    case 64: return enqueue_tiles_of<In, 64>(p, a, b, device, kernel, stream);
    default: return enqueue_tiles_of<In, 16>(p, a, b, device, kernel, stream);
  }
}

}  // namespace exactile::cuda::sm90::narrow
