// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the kernel for products with few rows is given, and how K and the lines (stream.cuh) are divided.
#pragma once

#include <cuda.h>

#include "cuda/kernels/sm90/native/output.cuh"

namespace exactile::cuda::sm90::few_rows {

inline constexpr int tile_lines = 64;
inline constexpr int stage_bytes = 128;  ///< of K; the swizzle's span
inline constexpr int most_threads = 256;
inline constexpr int parts_in_group = 4;

/// How K and the lines are divided.
struct Division {
  int part_terms;  ///< of K, a multiple of a stage; the last part may be shorter
  int parts;
  int cluster;  ///< CTAs that share a tile
  int warps;    ///< of a CTA
  int stages;   ///< of a warp's ring
  int tiles;

  [[nodiscard]] __host__ __device__ int groups() const { return (parts + parts_in_group - 1) / parts_in_group; }
  /// Groups of parts of a CTA.
  [[nodiscard]] __host__ __device__ int groups_of_cta() const { return (groups() + cluster - 1) / cluster; }
  /// Parts of a warp: some of a group, or groups.
  [[nodiscard]] __host__ __device__ int parts_of_warp() const {
    const int parts_each = (groups_of_cta() * parts_in_group + warps - 1) / warps;
    return parts_each < parts_in_group ? parts_each
                                       : (parts_each + parts_in_group - 1) / parts_in_group * parts_in_group;
  }
  /// Whether a warp adds up its groups' parts itself.
  [[nodiscard]] __host__ __device__ bool warps_have_groups() const { return parts_of_warp() >= parts_in_group; }
  /// Sums that a CTA keeps, of groups or of parts.
  [[nodiscard]] __host__ __device__ int sums_of_cta() const {
    return groups_of_cta() * (warps_have_groups() ? 1 : parts_in_group);
  }
};

/// Maps are used, and there, where TMA can read both operands.
template <class In>
struct Work {
  CUtensorMap lines_map;
  CUtensorMap rows_map;
  bool lines_are_shared;  ///< one matrix for all products
  bool rows_are_shared;
  const In* lines;
  OperandLayout lines_layout;  ///< row_stride from line to line, column_stride along K
  const In* rows;
  OperandLayout rows_layout;
  int k;
  Division division;
  native::Output<DeviceSum<In>> out;  ///< its columns are the lines
};

/// Where the lines are contiguous.
enum class Contiguous { along_k, along_lines };

/// by_tma: whether TMA can read both operands.
template <class In, int rows_, Contiguous where, bool by_tma>
struct Stream {
  using Element = In;
  using Sum = DeviceSum<In>;
  static constexpr int rows = rows_;  ///< 8 or 16
  static constexpr int row_groups = rows / 8;
  static constexpr bool along_k = where == Contiguous::along_k;
  static constexpr bool uses_tma = by_tma;
  static constexpr int units = 16 / static_cast<int>(sizeof(In));  ///< elements of 16 bytes
  static constexpr int stage_terms = stage_bytes / static_cast<int>(sizeof(In));
  static constexpr int part_sums = rows * tile_lines;  ///< of a part
  static_assert(along_k || sizeof(In) == 2);
};

}  // namespace exactile::cuda::sm90::few_rows
