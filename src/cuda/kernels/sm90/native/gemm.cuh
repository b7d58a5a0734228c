// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel around main loop and output: persistent, each cluster takes every so-manieth tile.
#pragma once

#include <algorithm>

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/here.cuh"
#include "cuda/kernels/sm90/native/join.cuh"
#include "cuda/kernels/sm90/native/mainloop.cuh"
#include "cuda/kernels/sm90/native/product.hpp"
#include "cuda/kernels/sm90/native/store.cuh"
#include "cuda/runtime/shared_memory.hpp"

namespace exactile::cuda::sm90::native {

/// The stages of the ring follow.
template <class T>
struct Shared {
  Staging staging[T::consumers][2];
  std::uint64_t full[most_stages];
  std::uint64_t empty[most_stages];
  Meeting meeting;
};

template <class T>
__global__ void __launch_bounds__(T::cta_threads, T::residents)
    multiply(const __grid_constant__ Parameters<typename T::Sum> p) {
  extern __shared__ std::byte dynamic[];
  // The same place in all CTAs of a cluster, as multicast needs it: all begin at the same address.
  auto* const shared = reinterpret_cast<Shared<T>*>(dynamic + (1024 - isa::shared_address(dynamic) % 1024) % 1024);
  const Ring<T> ring{reinterpret_cast<Stage<T>*>(shared + 1), shared->full, shared->empty, p.stages};
  const std::uint32_t base = isa::warp_uniform(isa::shared_address(shared));
  const RingPlaces<T> places{.stage = base + static_cast<std::uint32_t>(sizeof(Shared<T>)),
                             .full = base + static_cast<std::uint32_t>(offsetof(Shared<T>, full)),
                             .empty = base + static_cast<std::uint32_t>(offsetof(Shared<T>, empty))};
  const Peers peers({p.cluster.rows, p.cluster.columns, T::depth});
  const int warp = isa::warp_uniform(static_cast<int>(threadIdx.x) / 32);
  const int warpgroup = warp / (warpgroup_threads / 32);
  const int clusters = isa::cluster_count();
  const int first_tile = isa::cluster_index();
  const auto product_of = [&](int batch) { return p.by_chunks.quotient(batch); };
  const auto chunk_of = [&](int batch) { return batch - product_of(batch) * p.chunks; };
  const auto first_of = [&](int chunk, int part) {
    const int blocks = min(p.chunk_blocks, p.blocks - chunk * p.chunk_blocks);
    return chunk * p.chunk_blocks + blocks * part / T::depth;
  };
  const auto blocks_of = [&](int chunk) { return first_of(chunk, peers.part + 1) - first_of(chunk, peers.part); };
  const auto row_of = [&](const TilePlace& place) { return (place.row * p.cluster.rows + peers.row) * T::tile_m; };
  const auto column_of = [&](const TilePlace& place) {
    return (place.column * p.cluster.columns + peers.column) * T::tile_n;
  };

  const auto place_of = [&](const TilePlace& place) {
    const int product = product_of(place.batch);
    const int chunk = chunk_of(place.batch);
    return LoadPlace{.row = row_of(place),
                     .column = column_of(place),
                     .a_batch = p.a_is_shared ? 0 : product,
                     .b_batch = p.b_is_shared ? 0 : product,
                     .first_block = first_of(chunk, peers.part),
                     .blocks = blocks_of(chunk)};
  };

  isa::start_kernel_after();
  const Loader loader{warp - T::consumer_warps};
  Loads<T> loads;
  if (warpgroup == T::consumers) {
    loads = Loads<T>(loader, peers);  // takes as long as making barriers
    loads.place = place_of(p.order(first_tile));
  } else if (threadIdx.x == 0) {
    ring.initialise(ring.full, 1);
  } else if (threadIdx.x == 32) {
    ring.initialise(ring.empty, (p.cluster.rows + p.cluster.columns - 1) * T::consumer_warps);
  } else if (threadIdx.x == 96) {
    if constexpr (T::depth > 1) initialise<T>(shared->meeting);
  } else if (threadIdx.x == 64) {
    isa::tma_prefetch_map(&p.a);
    isa::tma_prefetch_map(&p.b);
    if (p.out.store_by == StoreBy::boxes || p.out.store_by == StoreBy::columns) isa::tma_prefetch_map(&p.c);
  }
  __syncwarp();
  const bool is_alone = peers.size == 1;
  if (is_alone) {
    __syncthreads();
  } else {
    isa::cluster_sync_relaxed();
  }
  isa::wait_for_kernel_before();

  if (warpgroup == T::consumers) {
    if constexpr (T::takes_registers) isa::registers_give<T::loader_registers>();
    if (loader.first() < T::loader_pairs) {
      int next = loader.first();
      RingPlace at;
      at.advance(p.stages, next);
      for (int tile = first_tile;;) {
        load_tile<T>(places, p.stages, loader, at, next, &p.a, &p.b, peers, loads);
        if ((tile += clusters) >= p.order.count()) break;
        loads.place = place_of(p.order(tile));
      }
      if (!is_alone) wait_for_readers<T>(places, p.stages, at, next);
    }
  } else {
    if constexpr (T::takes_registers) isa::registers_take<T::consumer_registers>();
    const Reader<T> reader(places, peers, warpgroup);
    const int warp_in_group = warp % (warpgroup_threads / 32);
    Staging(&staging)[2] = shared->staging[warpgroup];
    typename T::Sum sums[T::tile_n / 2];
    RingPlace at;
    LateStore<typename T::Stored, stores_late<T>> late;
    const auto go_on_storing = [&](int step) {
      if constexpr (stores_late<T>)
        step == 0 ? late.send_first(&p.c, staging, warp_in_group) : late.send_second(&p.c, staging, warp_in_group);
    };
    for (int tile = first_tile; tile < p.order.count(); tile += clusters) {
      const TilePlace place = p.order(tile);
      const int blocks = blocks_of(chunk_of(place.batch));
      const auto store = [&](auto& of_columns, int first_column) {
        store_tile<typename T::Stored>(of_columns, p.out, &p.c, staging, late,
                                       {.row = row_of(place) + warpgroup * 64,
                                        .column = column_of(place) + first_column,
                                        .batch = place.batch,
                                        .warp = warp_in_group,
                                        .lane = isa::thread_here() % 32},
                                       1 + warpgroup);
      };
      if constexpr (T::has_short_sums) {
        multiply_tile_shortly<T>(sums, reader, at, p.stages, blocks);
      } else {
        multiply_tile<T>(sums, reader, at, p.stages, blocks, go_on_storing);
      }
      if constexpr (T::depth == 1) {
        store(sums, 0);
      } else {
        typename T::Sum joined[T::Stored::tile_n / 2];
        join_parts<T>(joined, sums, ring, shared->meeting, peers);
        store(joined, peers.part * T::Stored::tile_n);
        break;  // a cluster's only tile; told so, the compiler keeps no sums for another
      }
    }
    go_on_storing(0);
    go_on_storing(1);
    isa::tma_store_wait_read<0>();
  }
}

template <class T>
[[nodiscard]] Status enqueue_tile(const Parameters<typename T::Sum>& p, int ctas, std::string_view kernel,
                                  cudaStream_t stream) {
  constexpr int most_bytes = 227 * 1024;
  if (Status s = allow_shared_memory(multiply<T>, most_bytes, kernel); !s.ok()) return s;
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(p.cluster.size()), 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(T::cta_threads);
  config.dynamicSmemBytes = 1024 + sizeof(Shared<T>) + static_cast<std::size_t>(p.stages) * sizeof(Stage<T>);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  return check(cudaLaunchKernelEx(&config, multiply<T>, p), "launch", kernel);
}

/// The kernels of a type; see takes_along_lines(), which holds for 16 bits only.
template <class In, int m, int n, Depth depth>
[[nodiscard]] Status enqueue_tiles_of(const Parameters<DeviceSum<In>>& p, Major a, Major b, int ctas,
                                      cudaStream_t stream) {
  const auto enqueue = [&]<Major a_major, Major b_major>() {
    return enqueue_tile<Tile<In, m, n, a_major, b_major, depth>>(p, ctas, family_name(multiplied_type<In>), stream);
  };
  if constexpr (sizeof(In) == 2) {
    constexpr bool takes_a = takes_along_lines(true, {m, n});
    constexpr bool takes_b = takes_along_lines(false, {m, n});
    if constexpr (takes_a && takes_b)
      if (a == Major::mn && b == Major::mn) return enqueue.template operator()<Major::mn, Major::mn>();
    if constexpr (takes_a)
      if (a == Major::mn) return enqueue.template operator()<Major::mn, Major::k>();
    if constexpr (takes_b)
      if (b == Major::mn) return enqueue.template operator()<Major::k, Major::mn>();
  }
  return enqueue.template operator()<Major::k, Major::k>();
}

/// Instantiates the rows of tile_kinds() and takes the one that fits. Rows that differ in slices of K alone have one
/// kernel.
template <class In>
Status enqueue_tiles(const Parameters<DeviceSum<In>>& p, TileShape tile, Major a, Major b, int ctas,
                     cudaStream_t stream) {
  static constexpr std::span<const TileKind> kinds = tile_kinds<sizeof(In)>();
  Status status;
  const auto enqueue_if = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
    constexpr TileKind kind = kinds[i];
    if constexpr (kind.division.chunk_blocks == 0) {
      if (kind.tile != tile || kind.division.depth != p.cluster.depth) return false;
      status = enqueue_tiles_of<In, kind.tile.m, kind.tile.n, kind.division.depth>(p, a, b, ctas, stream);
      return true;
    } else {
      return false;
    }
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    static_cast<void>((enqueue_if(std::integral_constant<std::size_t, i>()) || ...));
  }
  (std::make_index_sequence<kinds.size()>());
  return status;
}

}  // namespace exactile::cuda::sm90::native
