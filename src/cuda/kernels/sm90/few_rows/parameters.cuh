// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the kernel for products with few rows is given, and how K and the columns of B (stream.cuh) are divided.
#pragma once

#include <cuda.h>

#include "cuda/kernels/sm90/native/output.cuh"

namespace exactile::cuda::sm90::few_rows {

inline constexpr int tile_n = 64;
inline constexpr int stage_bytes = 128;  ///< of K; the swizzle's span
inline constexpr int most_threads = 256;
inline constexpr int slices_in_group = 4;

/// How K and the columns of B are divided.
struct Division {
  int k_per_slice;  ///< of K, a multiple of a stage; the last slice may be shorter
  int k_slices;
  int cluster;  ///< CTAs that share a tile
  int warps;    ///< of a CTA
  int stages;   ///< of a warp's pipeline
  int tiles;

  [[nodiscard]] __host__ __device__ int groups() const { return (k_slices + slices_in_group - 1) / slices_in_group; }
  /// Groups of K slices of a CTA.
  [[nodiscard]] __host__ __device__ int groups_of_cta() const { return (groups() + cluster - 1) / cluster; }
  /// K slices of a warp: some of a group, or groups.
  [[nodiscard]] __host__ __device__ int slices_of_warp() const {
    const int slices_each = (groups_of_cta() * slices_in_group + warps - 1) / warps;
    return slices_each < slices_in_group ? slices_each
                                         : (slices_each + slices_in_group - 1) / slices_in_group * slices_in_group;
  }
  /// Whether a warp adds up its groups' slices itself.
  [[nodiscard]] __host__ __device__ bool warps_have_groups() const { return slices_of_warp() >= slices_in_group; }
  /// Sums that a CTA keeps, of groups or of slices.
  [[nodiscard]] __host__ __device__ int sums_of_cta() const {
    return groups_of_cta() * (warps_have_groups() ? 1 : slices_in_group);
  }
};

/// Maps are used, and there, where TMA can read both operands.
template <class In>
struct Parameters {
  CUtensorMap b_map;
  CUtensorMap a_map;
  bool b_is_shared;  ///< one matrix for all products
  bool a_is_shared;
  const In* b;
  OperandLayout b_layout;  ///< row_stride along N, column_stride along K
  const In* a;
  OperandLayout a_layout;
  int k;
  Division division;
  native::Output<DeviceAccumulator<In>> out;  ///< its columns are B's
};

/// The major of B.
enum class BMajor { k, n };

/// by_tma: whether TMA can read both operands.
template <class In, int rows_, BMajor where, bool by_tma>
struct Stream {
  using Element = In;
  using Accumulator = DeviceAccumulator<In>;
  static constexpr int rows = rows_;  ///< 8 or 16
  static constexpr int row_groups = rows / 8;
  static constexpr bool k_major = where == BMajor::k;
  static constexpr bool uses_tma = by_tma;
  static constexpr int units = 16 / static_cast<int>(sizeof(In));  ///< elements of 16 bytes
  static constexpr int stage_k = stage_bytes / static_cast<int>(sizeof(In));
  static constexpr int slice_sums = rows * tile_n;  ///< of a K slice
  static_assert(k_major || sizeof(In) == 2);
};

}  // namespace exactile::cuda::sm90::few_rows
