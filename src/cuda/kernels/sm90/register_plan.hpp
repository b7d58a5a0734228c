// SPDX-License-Identifier: Apache-2.0
/// \file
/// How sm90_f32_fp16x3_split_a_wgmma and _split_b_wgmma lay a product over the device, and what lies in the workspace.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/sm90/f32_sliced.cuh"
#include "cuda/kernels/sm90/register_split.cuh"

namespace exactile::cuda::sm90 {

/// Up to such a K chunks are summed by halves: it halves positive elements' errors, which would exceed cuBLAS's,
/// for 0.5 to 4 % of the time. From there on cuBLAS's are larger.
inline constexpr std::int64_t most_halved_k = 12288;

/// The tiles that C is cut into.
struct RegisterTiles {
  int columns;
  int cluster_size;
};

inline constexpr RegisterTiles narrowest{64, 1};  ///< for what does not depend on tiles

/// A product with C's columns contiguous where that can be, and which of its operands is split in registers.
struct RegisterPlan {
  GemmDescription d;
  bool is_transposed;
  bool a_unsplit;
  bool divides_sliced;
  int k_per_slice;  ///< of K in a slice, a multiple of a chunk
  int split_k;
  int row_tiles;
  std::int64_t a_batches;
  std::int64_t b_batches;
  RegisterTiles tiles;
  int column_tiles;

  RegisterPlan(const GemmDescription& description, Operand unsplit, RegisterTiles tiles)
      : d(with_contiguous_rows(description)),
        is_transposed(!(d == description)),
        a_unsplit((unsplit == Operand::a) != is_transposed),
        divides_sliced(unsplit == Operand::a),
        k_per_slice(k_per_slice_of(description, unsplit)),
        split_k(static_cast<int>((d.k + k_per_slice - 1) / k_per_slice)),
        row_tiles((unsplit_rows() + tile_m - 1) / tile_m),
        a_batches(plan::distinct_matrices(d.a, d.batch_count)),
        b_batches(plan::distinct_matrices(d.b, d.batch_count)),
        tiles(tiles),
        column_tiles((sliced_rows() + tiles.columns - 1) / tiles.columns) {}

  [[nodiscard]] int sliced_rows() const { return static_cast<int>(a_unsplit ? d.n : d.m); }
  [[nodiscard]] int unsplit_rows() const { return static_cast<int>(a_unsplit ? d.m : d.n); }
  [[nodiscard]] std::int64_t sliced_batches() const { return a_unsplit ? b_batches : a_batches; }
  [[nodiscard]] std::int64_t unsplit_batches() const { return a_unsplit ? a_batches : b_batches; }
  /// Where A is not split B's slices have scales for each K slice: the slices depend on k alone.
  [[nodiscard]] int presplit_k_slices() const { return divides_sliced ? split_k : 1; }
  [[nodiscard]] int sliced_k() const { return divides_sliced && split_k > 1 ? k_per_slice : static_cast<int>(d.k); }
  [[nodiscard]] bool halves_chunks() const { return d.k <= most_halved_k; }
  /// Of clusters.
  [[nodiscard]] std::int64_t work_tiles() const { return work_tiles_of(tiles.columns, tiles.cluster_size); }

 private:
  /// By n and k alone. Where A is not split, by k alone: B's slices have scales for each K slice, and may be prepared.
  [[nodiscard]] static int k_per_slice_of(const GemmDescription& d, Operand unsplit) {
    constexpr std::int64_t k_per_slice_of_a = 1024;
    const std::int64_t chunks = std::max<std::int64_t>(core::ceil_divide(d.k, chunk_k), 1);
    const std::int64_t most = std::clamp<std::int64_t>(chunks / least_chunks, 1, most_slices);
    const std::int64_t split_k = unsplit == Operand::a ? std::clamp<std::int64_t>(d.k / k_per_slice_of_a, 1, most)
                                                       : slices_for(core::ceil_divide(d.n, tile_m), chunks, most);
    return static_cast<int>(core::ceil_divide(chunks, split_k) * chunk_k);
  }
  /// Slices of K for so many rows of tiles: where CTAs take the fewest chunks. What a slice of 64 columns' sums writes
  /// and reads again is as much as two chunks for each row of tiles.
  [[nodiscard]] static std::int64_t slices_for(std::int64_t row_tiles, std::int64_t chunks, std::int64_t most) {
    std::int64_t best = 1, least = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t slices = 1; slices <= most; ++slices) {
      const std::int64_t length = core::ceil_divide(chunks, slices);
      const std::int64_t tiles = row_tiles * core::ceil_divide(chunks, length);
      const std::int64_t cost = core::ceil_divide(tiles, sm_count) * length * sm_count + 2 * tiles;
      if (cost < least) {
        least = cost;
        best = slices;
      }
    }
    return best;
  }
  [[nodiscard]] std::int64_t work_tiles_of(int columns, int cluster_size) const {
    return (row_tiles + cluster_size - 1) / cluster_size * std::int64_t{(sliced_rows() + columns - 1) / columns} *
           split_k * d.batch_count;
  }
  static constexpr std::int64_t sm_count = 132;  // of an H200: the slices depend on no device
  static constexpr std::int64_t least_chunks = 8, most_slices = 72;
};

/// Places in the workspace, in bytes from its start.
struct SplitWorkspace {
  std::int64_t scales[2];  ///< of what is sliced, of what is not: maxima, then underflow counts
  std::int64_t slices;
  std::int64_t partials;
  std::int64_t bytes;
  std::int64_t pitch[2];  ///< of those scales
  std::int64_t partial_pitch;

  explicit SplitWorkspace(const RegisterPlan& plan)
      : pitch{core::round_up(plan.sliced_rows(), 64), std::int64_t{plan.row_tiles} * tile_m},
        partial_pitch(core::round_up(plan.d.n, 4)) {
    constexpr std::int64_t alignment = 1024;
    std::int64_t end = 0;
    const auto take = [&end](std::int64_t size) { return std::exchange(end, core::round_up(end + size, alignment)); };
    const std::int64_t sliced = plan.presplit_k_slices() * plan.sliced_batches();
    scales[0] = take(sliced * pitch[0] * 8);
    scales[1] = take(plan.split_k * plan.unsplit_batches() * pitch[1] * 8);
    slices = take(sliced * plan.sliced_rows() * slices_row_bytes<Fp16x3>(plan.sliced_k()));
    partials = take(plan.split_k * plan.d.batch_count * plan.d.m * partial_pitch * 4);
    bytes = end;
  }
};

}  // namespace exactile::cuda::sm90
