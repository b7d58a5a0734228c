// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a product is laid over the device: which way round, how wide the tiles, in how many chunks of K.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda/kernel.hpp"

namespace exactile::cuda::sm90::native {

/// CTAs of a cluster that share the sums of a tile, each a slice of K: a constant of a configuration, so that the order
/// of a sum depends on the configuration and on k alone. The partial sums are added in order.
using ClusterK = int;

/// How a configuration divides K, a constant of it too: among the CTAs of a cluster, or in slices of so many blocks of
/// K (128 bytes each), whose sums meet in memory and are added in their order. 0: only sums longer than 512 blocks,
/// where the cluster does not divide K, are formed in slices, of 256.
struct Division {
  ClusterK cluster_k = 1;
  int slice_blocks = 0;
};

/// `multiplied`: the type the tensor cores multiply; f16 for the 8-bit floats where they keep `standard`.
[[nodiscard]] std::int64_t blocks_per_slice_of(const GemmDescription& description, ElementType multiplied,
                                               Division division);
[[nodiscard]] std::int64_t split_k_of(const GemmDescription& description, ElementType multiplied, Division division);

/// Rows and columns of C that a CTA computes at a time: one to three warpgroups multiply 64 rows each.
struct TileShape {
  int m;
  int n;

  friend constexpr bool operator==(const TileShape&, const TileShape&) = default;
};

/// What a kernel is compiled for, and how it divides K.
struct TileKind {
  TileShape tile;
  Division division = {};
};

/// THE table of configurations: adding one is a row here, and nothing else.
inline constexpr TileKind tiles_of_16_bits[] = {{{128, 256}},
                                                {{192, 192}},
                                                {{192, 144}},
                                                {{128, 192}},
                                                {{128, 160}},
                                                {{128, 128}},
                                                {{128, 96}},
                                                {{128, 64}},
                                                {{128, 16}},
                                                {{64, 128}},
                                                {{64, 96}},
                                                {{64, 64}},
                                                {{64, 40}},
                                                {{64, 16}},
                                                {{128, 256}, {2, 0}},
                                                {{128, 128}, {2, 0}},
                                                {{128, 128}, {4, 0}},
                                                {{128, 96}, {2, 0}},
                                                {{64, 96}, {2, 0}},
                                                {{64, 48}, {2, 0}},
                                                {{64, 32}, {4, 0}},
                                                {{128, 256}, {1, 64}},
                                                {{128, 160}, {1, 32}},
                                                {{64, 128}, {1, 32}},
                                                {{64, 64}, {1, 32}}};
inline constexpr TileKind tiles_of_8_bits[] = {{{128, 256}}, {{128, 192}}, {{128, 128}},
                                               {{128, 64}},  {{128, 16}},  {{64, 32}, {4, 0}}};
inline constexpr TileKind tiles_of_tf32[] = {{{128, 256}}, {{128, 128}}, {{128, 64}}, {{128, 16}}};

/// Those of an element type that the tensor cores multiply in so many bytes.
template <std::size_t bytes>
[[nodiscard]] constexpr std::span<const TileKind> tile_kinds() {
  if constexpr (bytes == 1) return tiles_of_8_bits;
  if constexpr (bytes == 2) return tiles_of_16_bits;
  return tiles_of_tf32;
}

/// Columns of a tile that each of so many CTAs along K adds up and stores.
[[nodiscard]] constexpr int stored_columns(int tile_n, ClusterK cluster_k) { return tile_n / cluster_k; }

/// Tiles of few columns, which wait for A from memory. A is not kept in L2, and the CTAs of a cluster, so many one
/// above the other, load B's blocks in turns: too few columns to divide, since the swizzle repeats after eight.
inline constexpr int streaming_rows = 4;
[[nodiscard]] constexpr bool streams_a(TileShape tile) { return tile == TileShape{64, 16}; }

/// CTAs of a kernel on an SM at a time, at most.
[[nodiscard]] constexpr int most_ctas_per_sm(TileShape tile, bool needs_promotion) {
  return tile.n >= 96 || needs_promotion || streams_a(tile) ? 1 : tile.m == 64 && tile.n <= 48 ? 3 : 2;
}

/// Columns that the tensor cores sum at a time where f32 takes over from them.
[[nodiscard]] constexpr int promoted_fragment(int tile_n) { return tile_n == 256 ? 64 : tile_n == 192 ? 96 : tile_n; }

inline constexpr int most_cluster_rows = 4;

/// CTAs that load for each other: those side by side the same rows of A, those one above the other the same columns of
/// B. Those one behind the other do not; they compute the same tile.
/// Powers of two, at most most_cluster_rows high.
struct ClusterShape {
  int rows = 1;
  int columns = 1;
  ClusterK k = 1;

  [[nodiscard]] __host__ __device__ constexpr int layer() const { return rows * columns; }
  [[nodiscard]] __host__ __device__ constexpr int size() const { return layer() * k; }
};

/// Blocks of K, 128 bytes long, that a CTA can hold in shared memory.
inline constexpr int most_stages = 20;
/// As many as there is room for with so many CTAs on an SM.
[[nodiscard]] int stages_for(TileShape tile, int ctas_per_sm);

struct LaunchConfig {
  GemmDescription d;  ///< as computed: of C, or of C^T = B^T A^T
  ElementType multiplied;
  bool is_transposed;  ///< A and B have changed places
  TileShape tile;
  ClusterShape cluster;
  int ctas_per_sm;   ///< CTAs on an SM at a time
  int slice_blocks;  ///< the Division's
  std::int64_t blocks_per_slice;
  std::int64_t split_k;

  [[nodiscard]] bool is_converted() const { return multiplied != d.types.input; }
  [[nodiscard]] int stored_columns() const { return native::stored_columns(tile.n, cluster.k); }
};

/// Clusters that the device holds at a time.
[[nodiscard]] int resident_clusters(const LaunchConfig& layout, const Device& device);

/// The major in which TMA can read an operand (its strides; the address is known later), or neither.
enum class OperandMajor { k, mn, none };
/// `layout`: row_stride along M or N, column_stride along K. `element`: as multiplied.
[[nodiscard]] OperandMajor operand_major_of(const OperandLayout& layout, ElementType element, bool is_converted);
/// The same elements of A and B: where a stride does not matter, because M or N, K or the batch is 1, it is one that
/// TMA can use.
[[nodiscard]] GemmDescription reachable(GemmDescription description);

/// Whether kernels of that tile take an MN-major operand: most both, narrow ones A, those 192 wide B.
[[nodiscard]] constexpr bool takes_mn_major(bool is_a, TileShape tile) {
  return is_a ? tile.m == 64 || tile.n != 192 : tile.n % 64 == 0;
}

/// MN-major boxes hold 64 rows (columns): whether so many CTAs that load a tile together each load whole boxes, rather
/// than some of the k of all.
[[nodiscard]] constexpr bool shares_boxes(int tile_mn, int shares) { return tile_mn / 64 % shares == 0; }

/// Whether the contiguous rows or columns of C, `length` elements long and `pitch` apart, begin and end at multiples of
/// 16 bytes where C does: TMA cuts a box off there.
[[nodiscard]] inline bool has_aligned_strides(const GemmDescription& d, std::int64_t length, std::int64_t pitch) {
  const std::int64_t size = size_in_bytes(d.types.output);
  constexpr std::int64_t most_pitch = std::int64_t{1} << 36;  // TMA takes less than 2^40 bytes
  return !d.c.pointer_array && pitch > 0 && pitch < most_pitch && length * size % 16 == 0 && pitch * size % 16 == 0 &&
         d.c.batch_stride * size % 16 == 0;
}

/// Whether TMA can store a tile of that width, `bytes` an element: in boxes of 128 bytes.
[[nodiscard]] constexpr bool stores_boxes(int tile_n, std::int64_t bytes) { return tile_n * bytes % 128 == 0; }

/// Rows of a warpgroup's 64 that a warp holds the sums of; TMA stores so many at a time.
inline constexpr int warp_rows = 16;

/// Columns of a tile that TMA stores at a time where C's columns are contiguous: at most 64.
[[nodiscard]] constexpr int columns_of_box(int tile_n) {
  int pieces = 1;
  while (tile_n % (8 * pieces) != 0 || tile_n / pieces > 64) ++pieces;
  return tile_n / pieces;
}

/// Why no product of that size can be divided so; empty if it can.
[[nodiscard]] std::string_view why_impossible(const GemmDescription& description, ElementType multiplied,
                                              Division division, const Device& device);

[[nodiscard]] Configuration configuration_of(const LaunchConfig& layout);
/// The product by a configuration that candidates() has named.
[[nodiscard]] LaunchConfig launch_config_of(const GemmDescription& description, ElementType multiplied,
                                            const Configuration& configuration);
/// All ways that kernels of those tiles have, K being long enough for them.
[[nodiscard]] std::vector<Candidate> candidates(const GemmDescription& description, ElementType multiplied,
                                                std::span<const TileKind> kinds, const Device& device);

/// A product of elements In; f16 also for the 8-bit floats where they keep `standard`.
template <class In>
[[nodiscard]] std::unique_ptr<DeviceProduct> make_product(const LaunchConfig& layout, const Device& device);

/// Whether the tensor cores keep fewer bits of such a sum than f32 has.
[[nodiscard]] constexpr bool needs_promotion(ElementType multiplied) {
  return multiplied == ElementType::f8e4m3 || multiplied == ElementType::f8e5m2;
}

}  // namespace exactile::cuda::sm90::native
