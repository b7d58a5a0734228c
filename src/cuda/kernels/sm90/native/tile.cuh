// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shape of the work: what one CTA computes at a time and how its operands lie in shared memory.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/mbarrier.cuh"
#include "cuda/isa/uniform.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/isa/wgmma_tile.cuh"
#include "cuda/kernels/sm90/native/plan.hpp"
#include "cuda/tile/types.cuh"

namespace exactile::cuda::sm90::native {

using isa::Major;

inline constexpr int warpgroup_threads = 128;
/// A producer warp, of which one elected thread issues TMA. A thread's TMA instructions run one after the other, so the
/// even warps load A and the odd ones B, and two pairs, where there are two, take alternate blocks of K.
struct Producer {
  int index;

  [[nodiscard]] __device__ int first() const { return index / 2; }  ///< of a tile's blocks; then in strides
  [[nodiscard]] __device__ bool loads_a() const { return index % 2 == 0; }
};
inline constexpr int row_bytes = 128;  // of a tile in shared memory; the swizzle's span

/// Whether the tensor cores keep fewer bits of such a sum than f32 has.
template <class In>
inline constexpr bool needs_promotion_v = sizeof(In) == 1 && !std::is_integral_v<In>;

/// What is stored of a tile's sums: so many columns.
template <class In, int n>
struct StoredTile {
  using Element = In;
  using Accumulator = DeviceAccumulator<In>;
  static constexpr int tile_n = n;
};

/// A kernel's constants. In: element type; m, n: rows and columns of C a CTA computes; the majors of A's and B's tiles;
/// k_slices: CTAs of a cluster that divide K.
template <class In, int m, int n, Major a, Major b, ClusterK k_slices = 1>
struct Tile {
  using Element = In;
  using Accumulator = DeviceAccumulator<In>;
  static constexpr bool needs_promotion = needs_promotion_v<In>;
  /// Columns whose sums the tensor cores then hold at a time; two such fragments and the sums fit in the registers.
  static constexpr int fragment_n = promoted_fragment(n);
  static constexpr int tile_n = n;
  static constexpr int tile_m = m;
  static constexpr int consumers = tile_m / 64;  ///< consumer warpgroups, one below the other; one more loads
  static constexpr int consumer_warps = consumers * warpgroup_threads / 32;
  static constexpr int cta_threads = (consumers + 1) * warpgroup_threads;
  static constexpr int ctas_per_sm = most_ctas_per_sm({m, n}, needs_promotion);
  static constexpr bool streams_a = native::streams_a({m, n});
  /// Of producer warps. Memory is fastest where all CTAs ask for it in the order of K: with two pairs they drift apart.
  static constexpr int producer_pairs = streams_a ? 1 : 2;
  static constexpr bool takes_registers =
      n == 256 || consumers == 3 || (needs_promotion && n >= 128);  ///< from the producer warpgroup
  static constexpr int producer_registers = consumers == 3 ? 56 : 40;
  static constexpr int consumer_registers = consumers == 3 ? 152 : 232;
  static constexpr ClusterK cluster_k = k_slices;
  using Stored = StoredTile<In, stored_columns(n, k_slices)>;
  static constexpr Major a_major = a;
  static constexpr Major b_major = b;
  static constexpr int block_k = row_bytes / static_cast<int>(sizeof(In));
  static constexpr int steps = 4;  ///< wgmma instructions along a block: 32 bytes of K each
  static constexpr int a_bytes = tile_m * row_bytes;
  static constexpr int b_bytes = n * row_bytes;

  // Along M or N a stage is groups of 64 rows (columns), each block_k rows of 128 bytes.
  static constexpr int group_bytes = 64 * row_bytes;
  static_assert(a == Major::k || sizeof(In) == 2);
  static_assert(b == Major::k || (sizeof(In) == 2 && n % 64 == 0));
};

/// This CTA in its cluster.
struct Peers {
  ClusterShape cluster;
  int size;
  int rank;
  int row;
  int column;
  int k_rank;  ///< along K

  __device__ explicit Peers(ClusterShape shape)
      : cluster(shape), size(shape.size()), rank(static_cast<int>(isa::cluster_rank())) {
    k_rank = shape.k == 1 ? 0 : rank / shape.layer();
    const int in_layer = rank - k_rank * shape.layer();
    row = shape.columns == 1 ? in_layer : in_layer / shape.columns;
    column = in_layer - row * shape.columns;
  }
  /// The CTAs that need the same rows of A, as a mask.
  [[nodiscard]] __device__ std::uint16_t beside() const {
    return static_cast<std::uint16_t>(((1 << cluster.columns) - 1)
                                      << (k_rank * cluster.layer() + row * cluster.columns));
  }
  /// The CTAs that need the same columns of B.
  [[nodiscard]] __device__ std::uint16_t above() const {
    unsigned mask = 0;
#pragma unroll
    for (int i = 0; i < most_cluster_rows; ++i)
      if (i < cluster.rows) mask |= 1u << (k_rank * cluster.layer() + i * cluster.columns + column);
    return static_cast<std::uint16_t>(mask);
  }
  /// Whether that CTA loads for this one.
  [[nodiscard]] __device__ bool is_supplier(int rank) const { return rank < size && (beside() | above()) >> rank & 1; }
};

template <class T>
struct Stage {
  alignas(1024) std::byte a[T::a_bytes];
  alignas(1024) std::byte b[T::b_bytes];
};

/// Blocks of K on their way from memory to the tensor cores.
template <class T>
struct Pipeline {
  Stage<T>* stage;
  std::uint64_t* full;
  std::uint64_t* empty;
  int stages;

  /// By a thread for either kind of barrier, before all meet: of all stages there may be, without a loop.
  __device__ void initialise(std::uint64_t* barriers, int arrivals) const {
#pragma unroll
    for (int i = 0; i < most_stages; ++i) isa::mbarrier_init(&barriers[i], arrivals);
    isa::mbarrier_init_fence();
  }
};

/// The pipeline as 32-bit addresses that a warp's threads share.
template <class T>
struct PipelineAddresses {
  std::uint32_t stage;
  std::uint32_t full;
  std::uint32_t empty;

  [[nodiscard]] __device__ std::uint32_t a_of(int index) const { return stage + index * sizeof(Stage<T>); }
  [[nodiscard]] __device__ std::uint32_t b_of(int index) const { return a_of(index) + T::a_bytes; }
  [[nodiscard]] __device__ std::uint32_t full_of(int index) const { return full + 8 * index; }
  [[nodiscard]] __device__ std::uint32_t empty_of(int index) const { return empty + 8 * index; }
};

/// Where a producer or a consumer is in the pipeline.
struct PipelineState {
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ void advance(int stages) {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  /// By so many blocks, at most a round.
  __device__ void advance(int stages, int blocks) {
    stage += blocks;
    if (stage >= stages) {
      stage -= stages;
      parity ^= 1;
    }
  }
};

}  // namespace exactile::cuda::sm90::native
