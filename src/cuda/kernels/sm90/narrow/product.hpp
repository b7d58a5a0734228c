// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host side of the products whose types the tensor cores multiply as they are.
#pragma once

#include <memory>

#include "cuda/kernels/sm90/narrow/output.cuh"
#include "cuda/kernels/sm90/narrow/plan.hpp"
#include "cuda/kernels/sm90/tile_order.cuh"
#include "cuda/tile/divisor.hpp"

namespace exactile::cuda::sm90::narrow {

/// As TileOrder, for cluster tiles of several heights.
struct StripOrder {
  int rows;
  int columns;
  int batches;
  int strip_rows;
  Divisor by_batch;  ///< tiles in a batch
  Divisor by_strip;  ///< tiles in a whole strip
  Divisor by_height;
  Divisor by_last_height;  ///< of the last strip, which may be lower

  StripOrder(int rows, int columns, int batches, int strip_rows)
      : rows(rows),
        columns(columns),
        batches(batches),
        strip_rows(strip_rows),
        by_batch(rows * columns),
        by_strip(strip_rows * columns),
        by_height(strip_rows),
        by_last_height((rows - 1) % strip_rows + 1) {}

  [[nodiscard]] __host__ __device__ int count() const { return rows * columns * batches; }

  [[nodiscard]] __device__ TilePlace operator()(int index) const {
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

template <class Sum>
struct Parameters {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap c;
  StripOrder order;  ///< its batches are products times chunks of K
  ClusterShape cluster;
  int stages;
  int chunks;
  Divisor by_chunks;
  int chunk_blocks;  ///< blocks of K in a chunk
  int blocks;        ///< in all of K
  bool a_is_shared;  ///< one A for all products
  bool b_is_shared;
  Output<Sum> out;
};

/// Enqueues the kernel of that tile and those directions; defined with the kernels of each type.
template <class In>
[[nodiscard]] Status enqueue_tiles(const Parameters<DeviceSum<In>>& p, TileShape tile, Major a, Major b, int ctas,
                                   std::string_view kernel, cudaStream_t stream);

/// "sm90_bf16_wgmma_128x256_k2": the family's file, the tile, and parts of K or blocks of K in a chunk.
template <class In, int m, int n, Depth depth, int chunk_blocks>
inline constexpr std::string_view kernel_name{};
#define EXACTILE_NAME(In, text, m, n, depth, chunk, parts) \
  template <>                                              \
  inline constexpr std::string_view kernel_name<In, m, n, depth, chunk> = "sm90_" text "_wgmma_" #m "x" #n parts;
#define EXACTILE_NAMES(In, text)                   \
  EXACTILE_NAME(In, text, 128, 256, 1, 0, "")      \
  EXACTILE_NAME(In, text, 128, 192, 1, 0, "")      \
  EXACTILE_NAME(In, text, 128, 160, 1, 0, "")      \
  EXACTILE_NAME(In, text, 128, 128, 1, 0, "")      \
  EXACTILE_NAME(In, text, 128, 64, 1, 0, "")       \
  EXACTILE_NAME(In, text, 128, 16, 1, 0, "")       \
  EXACTILE_NAME(In, text, 192, 192, 1, 0, "")      \
  EXACTILE_NAME(In, text, 192, 144, 1, 0, "")      \
  EXACTILE_NAME(In, text, 64, 128, 1, 0, "")       \
  EXACTILE_NAME(In, text, 64, 64, 1, 0, "")        \
  EXACTILE_NAME(In, text, 64, 40, 1, 0, "")        \
  EXACTILE_NAME(In, text, 64, 16, 1, 0, "")        \
  EXACTILE_NAME(In, text, 128, 256, 2, 0, "_k2")   \
  EXACTILE_NAME(In, text, 128, 128, 2, 0, "_k2")   \
  EXACTILE_NAME(In, text, 128, 128, 4, 0, "_k4")   \
  EXACTILE_NAME(In, text, 128, 96, 2, 0, "_k2")    \
  EXACTILE_NAME(In, text, 64, 96, 2, 0, "_k2")     \
  EXACTILE_NAME(In, text, 64, 48, 2, 0, "_k2")     \
  EXACTILE_NAME(In, text, 64, 32, 4, 0, "_k4")     \
  EXACTILE_NAME(In, text, 128, 256, 1, 64, "_c64") \
  EXACTILE_NAME(In, text, 128, 160, 1, 32, "_c32") \
  EXACTILE_NAME(In, text, 64, 128, 1, 32, "_c32")  \
  EXACTILE_NAME(In, text, 64, 64, 1, 32, "_c32")
EXACTILE_NAMES(__nv_bfloat16, "bf16")
EXACTILE_NAMES(__half, "f16")
EXACTILE_NAMES(std::int8_t, "i8_i32")
EXACTILE_NAMES(float, "f32_tf32")
EXACTILE_NAMES(__nv_fp8_e4m3, "f8e4m3")
EXACTILE_NAMES(__nv_fp8_e5m2, "f8e5m2")
#undef EXACTILE_NAMES
#undef EXACTILE_NAME

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

[[nodiscard]] std::string_view refuses(const plan::Problem& problem, ElementType multiplied, Division division,
                                       const Device& device);

/// The kernel of one tile and division of K.
template <class In, int m, int n, Depth depth = 1, int chunk_blocks = 0>
[[nodiscard]] Kernel make_kernel(std::span<const GemmTypes> types, std::string_view summary) {
  constexpr ElementType multiplied = multiplied_type<In>;
  static constexpr Division division{.depth = depth, .chunk_blocks = chunk_blocks};
  static constexpr std::string_view name = kernel_name<In, m, n, depth, chunk_blocks>;
  static_assert(depth == 1 || (sizeof(In) == 2 && has_parts({m, n}, depth)));
  return {
      .name = name,
      .role = "engine",
      .summary = summary,
      .types = types,
      .least_capability = 90,
      .most_capability = 90,
      .refuses = [](const plan::Problem& p, const Device& device) { return refuses(p, multiplied, division, device); },
      .cost =
          [](const plan::Problem& p, const Device& device) {
            return choose_layout(p.description, multiplied, {m, n}, division, device).seconds;
          },
      .prepare =
          [](const plan::Problem& p, const Device& device) {
            return make_product<In>(choose_layout(p.description, multiplied, {m, n}, division, device), device, name);
          },
      .applies_scales = true};
}

}  // namespace exactile::cuda::sm90::narrow
