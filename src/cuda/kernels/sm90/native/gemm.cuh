// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel around main loop and output: persistent, each cluster takes tiles in grid-stride order, of one product,
/// of a batch or of groups.
#pragma once

#include <algorithm>

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/opaque.cuh"
#include "cuda/kernels/sm90/native/group_walk.cuh"
#include "cuda/kernels/sm90/native/mainloop.cuh"
#include "cuda/kernels/sm90/native/product.hpp"
#include "cuda/kernels/sm90/native/splitk_reduce_cluster.cuh"
#include "cuda/kernels/sm90/native/store.cuh"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm90::native {

/// The stages of the pipeline follow.
template <class T, class Scheduler>
struct Shared {
  Staging staging[T::consumers][2];
  std::uint64_t full[most_stages];
  std::uint64_t empty[most_stages];
  ReduceBarriers reduce_barriers;
  std::conditional_t<Scheduler::is_grouped, GroupTiles, NoTiles> tiles;
};

template <class T, class Scheduler>
__global__ void __launch_bounds__(T::cta_threads, T::ctas_per_sm)
    multiply(const __grid_constant__ Parameters<typename T::Accumulator, Scheduler> p) {
  using Shared = native::Shared<T, Scheduler>;
  using TilePlace = typename Scheduler::Tile;
  constexpr bool is_grouped = Scheduler::is_grouped;
  extern __shared__ std::byte dynamic[];
  // The same place in all CTAs of a cluster, as multicast needs it: all begin at the same address.
  auto* const shared = reinterpret_cast<Shared*>(dynamic + (1024 - isa::shared_address(dynamic) % 1024) % 1024);
  const Pipeline<T> pipeline{reinterpret_cast<Stage<T>*>(shared + 1), shared->full, shared->empty, p.stages};
  const std::uint32_t base = isa::warp_uniform(isa::shared_address(shared));
  const PipelineAddresses<T> addresses{.stage = base + static_cast<std::uint32_t>(sizeof(Shared)),
                                       .full = base + static_cast<std::uint32_t>(offsetof(Shared, full)),
                                       .empty = base + static_cast<std::uint32_t>(offsetof(Shared, empty))};
  const Peers peers({p.cluster.rows, p.cluster.columns, T::cluster_k});
  const int warp = isa::warp_uniform(static_cast<int>(threadIdx.x) / 32);
  const int warpgroup = warp / (warpgroup_threads / 32);
  const int clusters = isa::cluster_count();
  const int first_tile = isa::cluster_index();
  const auto product_of = [&](int batch) { return p.by_split_k.quotient(batch); };
  const auto k_slice_of = [&](int batch) { return batch - product_of(batch) * p.split_k; };
  const auto first_of = [&](int k_slice, int k_rank) {
    const int blocks = min(p.blocks_per_slice, p.blocks - k_slice * p.blocks_per_slice);
    return k_slice * p.blocks_per_slice + blocks * k_rank / T::cluster_k;
  };
  const auto blocks_of = [&](int k_slice) {
    return first_of(k_slice, peers.k_rank + 1) - first_of(k_slice, peers.k_rank);
  };
  const auto row_of = [&](const TilePlace& place) {
    return min(first_row_of(place) + (place.row * p.cluster.rows + peers.row) * T::tile_m, p.reach.last_row);
  };
  const auto column_of = [&](const TilePlace& place) {
    return min((place.column * p.cluster.columns + peers.column) * T::tile_n, p.reach.last_column);
  };

  const auto place_of = [&](const TilePlace& place) {
    const int product = product_of(place.batch);
    const int k_slice = k_slice_of(place.batch);
    return LoadCoord{.row = row_of(place),
                     .column = column_of(place),
                     .a_batch = p.a_is_shared ? 0 : product,
                     .b_batch = p.b_is_shared ? 0 : product,
                     .first_block = first_of(k_slice, peers.k_rank),
                     .blocks = blocks_of(k_slice)};
  };

  isa::start_kernel_after();
  const Producer producer{warp - T::consumer_warps};
  Producing<T> producing;
  if (warpgroup == T::consumers) {
    producing = Producing<T>(producer, peers, p.reach);  // takes as long as making barriers
    if constexpr (!is_grouped) producing.place = place_of(p.scheduler(first_tile));
  } else if (threadIdx.x == 0) {
    pipeline.initialise(pipeline.full, 1);
  } else if (threadIdx.x == 32) {
    pipeline.initialise(pipeline.empty, (p.cluster.rows + p.cluster.columns - 1) * T::consumer_warps);
  } else if (threadIdx.x == 96) {
    if constexpr (T::cluster_k > 1) initialise<T>(shared->reduce_barriers);
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
    if constexpr (T::takes_registers) isa::registers_give<T::producer_registers>();
    if (producer.first() < T::producer_pairs) {
      int next = producer.first();
      PipelineState state;
      state.advance(p.stages, next);
      const auto load = [&](const auto& announce) {
        load_tile<T>(addresses, p.stages, producer, state, next, &p.a, &p.b, peers, producing, announce);
      };
      if constexpr (is_grouped) {
        GroupWalk<T::tile_m> walk(p.scheduler);
        GroupTile place;
        for (int tile = first_tile; walk.find(tile, place); tile += clusters) {
          producing.place = place_of(place);
          load([&](int stage) { shared->tiles.announce(stage, place); });
        }
        if (next == 0 && producer.loads_a()) announce_end<T>(addresses, shared->tiles, state);
      } else {
        for (int tile = first_tile;;) {
          load([](int) {});
          if ((tile += clusters) >= p.scheduler.count()) break;
          producing.place = place_of(p.scheduler(tile));
        }
      }
      if (!is_alone) wait_for_consumers<T>(addresses, p.stages, state, next);
    }
  } else {
    if constexpr (T::takes_registers) isa::registers_take<T::consumer_registers>();
    const Consumer<T> consumer(addresses, peers, warpgroup);
    const int warp_in_group = warp % (warpgroup_threads / 32);
    Staging(&staging)[2] = shared->staging[warpgroup];
    typename T::Accumulator sums[T::tile_n / 2];
    PipelineState state;
    LateStore<typename T::Stored, stores_late<T>> late;
    const auto go_on_storing = [&](int step) {
      if constexpr (stores_late<T>)
        step == 0 ? late.send_first(&p.c, staging, warp_in_group) : late.send_second(&p.c, staging, warp_in_group);
    };
    const auto has_tile = [&](int tile) {
      if constexpr (!is_grouped)
        return tile < p.scheduler.count();
      else
        return true;  // that there is none is announced as a tile is
    };
    const auto tile_of = [&](int tile) {
      if constexpr (!is_grouped) {
        return p.scheduler(tile);
      } else {
        consumer.wait(state);
        return shared->tiles.at(state.stage);
      }
    };
    for (int tile = first_tile; has_tile(tile); tile += clusters) {
      const TilePlace place = tile_of(tile);
      if constexpr (is_grouped)
        if (place.batch == GroupTile::none) break;
      const int blocks = blocks_of(k_slice_of(place.batch));
      const auto store = [&](auto& of_columns, int first_column) {
        FragmentCoord at{.row = row_of(place) + warpgroup * 64,
                         .column = column_of(place) + first_column,
                         .warp = warp_in_group,
                         .lane = isa::opaque_thread() % 32};
        find_rows(at, place, p.out.rows);
        store_tile<typename T::Stored>(of_columns, p.out, &p.c, staging, late, at, 1 + warpgroup);
      };
      if constexpr (T::needs_promotion) {
        multiply_tile_promoted<T>(sums, consumer, state, p.stages, blocks);
      } else {
        multiply_tile<T>(sums, consumer, state, p.stages, blocks, go_on_storing);
      }
      if constexpr (T::cluster_k == 1) {
        store(sums, 0);
      } else {
        typename T::Accumulator reduced[T::Stored::tile_n / 2];
        splitk_reduce_cluster<T>(reduced, sums, pipeline, shared->reduce_barriers, peers);
        store(reduced, peers.k_rank * T::Stored::tile_n);
        break;  // a cluster's only tile; told so, the compiler keeps no sums for another
      }
    }
    go_on_storing(0);
    go_on_storing(1);
    isa::tma_store_wait_read<0>();
  }
}

template <class T, class Scheduler>
[[nodiscard]] Status enqueue_tile(const Parameters<typename T::Accumulator, Scheduler>& p, int ctas,
                                  std::string_view kernel, cudaStream_t stream) {
  constexpr int most_bytes = 227 * 1024;
  if (Status s = allow_shared_memory(multiply<T, Scheduler>, most_bytes, kernel); !s.ok()) return s;
  const std::size_t bytes = 1024 + sizeof(Shared<T, Scheduler>) + static_cast<std::size_t>(p.stages) * sizeof(Stage<T>);
  return check(launch_clusters(true, p.cluster.size(), multiply<T, Scheduler>, static_cast<unsigned>(ctas),
                               T::cta_threads, bytes, stream, p),
               "launch", kernel);
}

/// The kernels of a type; see takes_mn_major(), which holds for 16 bits only.
template <class In, int m, int n, ClusterK cluster_k>
[[nodiscard]] Status enqueue_tiles_of(const Parameters<DeviceAccumulator<In>>& p, Major a, Major b, int ctas,
                                      cudaStream_t stream) {
  const auto enqueue = [&]<Major a_major, Major b_major>() {
    return enqueue_tile<Tile<In, m, n, a_major, b_major, cluster_k>>(p, ctas, family_name(multiplied_type<In>), stream);
  };
  if constexpr (sizeof(In) == 2) {
    constexpr bool takes_a = takes_mn_major(true, {m, n});
    constexpr bool takes_b = takes_mn_major(false, {m, n});
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
Status enqueue_tiles(const Parameters<DeviceAccumulator<In>>& p, TileShape tile, Major a, Major b, int ctas,
                     cudaStream_t stream) {
  static constexpr std::span<const TileKind> kinds = tile_kinds<sizeof(In)>();
  Status status(StatusCode::unsupported, "no kernel has tiles of that size");
  const auto enqueue_if = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
    constexpr TileKind kind = kinds[i];
    if constexpr (kind.division.slice_blocks == 0) {
      if (kind.tile != tile || kind.division.cluster_k != p.cluster.k) return false;
      status = enqueue_tiles_of<In, kind.tile.m, kind.tile.n, kind.division.cluster_k>(p, a, b, ctas, stream);
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
