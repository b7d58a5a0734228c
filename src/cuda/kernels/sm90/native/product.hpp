// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host side of the products whose types the tensor cores multiply as they are.
#pragma once

#include <memory>

#include "cuda/kernels/sm90/native/output.cuh"
#include "cuda/kernels/sm90/native/plan.hpp"
#include "cuda/kernels/sm90/tile_scheduler.cuh"
#include "cuda/tile/divisor.hpp"

namespace exactile::cuda::sm90::native {

/// As sm90::TileScheduler, for cluster tiles of several heights.
struct TileScheduler {
  int rows;
  int columns;
  int batches;
  int strip_rows;
  Divisor by_batch;  ///< tiles in a batch
  Divisor by_strip;  ///< tiles in a whole strip
  Divisor by_height;
  Divisor by_last_height;  ///< of the last strip, which may be lower

  using Tile = TileCoord;
  static constexpr bool is_grouped = false;

  TileScheduler(int rows, int columns, int batches, int strip_rows)
      : rows(rows),
        columns(columns),
        batches(batches),
        strip_rows(strip_rows),
        by_batch(rows * columns),
        by_strip(strip_rows * columns),
        by_height(strip_rows),
        by_last_height((rows - 1) % strip_rows + 1) {}

  [[nodiscard]] __host__ __device__ int count() const { return rows * columns * batches; }

  [[nodiscard]] __device__ TileCoord operator()(int index) const {
    const int batch = by_batch.quotient(index);
    const int in_batch = index - batch * rows * columns;
    const int strip = by_strip.quotient(in_batch);
    const int in_strip = in_batch - strip * strip_rows * columns;
    const int first = strip * strip_rows;
    const bool is_last = first + strip_rows >= rows;
    const int column = (is_last ? by_last_height : by_height).quotient(in_strip);
    return {first + in_strip - column * (is_last ? rows - first : strip_rows), column, batch};
  }
};

/// What a CTA loads of a tile. TMA takes long over rows that an operand does not have: a tile that would reach beyond
/// the last ones begins earlier, and one that is larger than the operand is loaded in part.
struct Reach {
  int rows;      ///< of A, of a tile
  int columns;   ///< of B
  int last_row;  ///< where a tile begins at most
  int last_column;
};

template <class Accumulator, class Scheduler = TileScheduler>
struct Parameters {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap c;
  Scheduler scheduler;  ///< its batches are products times slices of K
  ClusterShape cluster;
  int stages;
  int split_k;
  Divisor by_split_k;
  int blocks_per_slice;  ///< blocks of K in a slice
  int blocks;            ///< in all of K
  Reach reach;
  bool a_is_shared;  ///< one A for all products
  bool b_is_shared;
  Output<Accumulator> out;
};

/// Enqueues the kernel of that tile and those directions; defined with the kernels of each type.
template <class In>
[[nodiscard]] Status enqueue_tiles(const Parameters<DeviceAccumulator<In>>& p, TileShape tile, Major a, Major b,
                                   int ctas, cudaStream_t stream);

/// What the tensor cores multiply: float is read as tf32.
template <class In>
inline constexpr ElementType multiplied_type{};
template <>
inline constexpr ElementType multiplied_type<__nv_bfloat16> = ElementType::bf16;
template <>
inline constexpr ElementType multiplied_type<__half> = ElementType::f16;
template <>
inline constexpr ElementType multiplied_type<std::int8_t> = ElementType::i8;
template <>
inline constexpr ElementType multiplied_type<float> = ElementType::f32;
template <>
inline constexpr ElementType multiplied_type<__nv_fp8_e4m3> = ElementType::f8e4m3;
template <>
inline constexpr ElementType multiplied_type<__nv_fp8_e5m2> = ElementType::f8e5m2;

/// The family of an element type.
[[nodiscard]] constexpr std::string_view family_name(ElementType multiplied) {
  switch (multiplied) {
    case ElementType::bf16: return "sm90_bf16_wgmma";
    case ElementType::f16: return "sm90_f16_wgmma";
    case ElementType::i8: return "sm90_i8_i32_wgmma";
    case ElementType::f8e4m3: return "sm90_f8e4m3_wgmma";
    case ElementType::f8e5m2: return "sm90_f8e5m2_wgmma";
    default: return "sm90_f32_tf32_wgmma";
  }
}

[[nodiscard]] std::string_view refuses(const plan::Problem& problem, ElementType multiplied, const Device& device);

template <class In>
[[nodiscard]] constexpr Kernel make_kernel(std::span<const GemmTypes> types, std::string_view summary) {
  constexpr ElementType multiplied = multiplied_type<In>;
  return {.name = family_name(multiplied),
          .role = "engine",
          .summary = summary,
          .types = types,
          .least_capability = 90,
          .most_capability = 90,
          .refuses = [](const plan::Problem& p, const Device& device) { return refuses(p, multiplied, device); },
          .candidates =
              [](const plan::Problem& p, const Device& device) {
                return candidates(p.description, multiplied, tile_kinds<sizeof(In)>(), device);
              },
          .make =
              [](const plan::Problem& p, const Device& device, const Configuration& configuration) {
                return make_product<In>(launch_config_of(p.description, multiplied, configuration), device);
              },
          .has_instances = true,
          .applies_scales = true};
}

}  // namespace exactile::cuda::sm90::native
