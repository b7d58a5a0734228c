// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host side of the f32 products made of slices: what is enqueued, with which tensor maps, in which workspace.
#pragma once

#include <algorithm>

#include "cuda/kernel.hpp"
#include "cuda/kernels/sm90/combine.hpp"
#include "cuda/kernels/sm90/gemm.cuh"
#include "cuda/kernels/sm90/tensor_map.hpp"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm90 {

/// The same product with C's columns contiguous, if C has columns or rows contiguous: (A B)^T = B^T A^T.
[[nodiscard]] GemmDescription with_contiguous_rows(const GemmDescription& description);

/// Places in the workspace, in bytes from its start.
struct SlicedLayout {
  std::int64_t a_batches;
  std::int64_t b_batches;
  std::int64_t a_pitch;  ///< rows rounded up to whole cluster tiles
  std::int64_t b_pitch;
  TileOrder order;
  std::int64_t max_bits;    ///< of A, then of B
  std::int64_t tiny;        ///< the same, for the first slices
  std::int64_t tiny_again;  ///< for the second; from here on all is zeroed first
  std::int64_t left_any;
  std::int64_t left_warps;
  std::int64_t zeroed;  ///< up to here
  std::int64_t left_marks;
  std::int64_t a_slices;
  std::int64_t b_slices;
  std::int64_t partials;
  std::int64_t bytes;
  int parts;  ///< of K; what there is for leftovers is not there for partial sums, and the other way round

  /// `bytes_per_block`: of the largest slices that will lie there. K is taken in parts if it `may_divide`.
  SlicedLayout(const GemmDescription& description, int bytes_per_block, bool may_divide);

  /// From row to row of the partial sums.
  [[nodiscard]] std::int64_t partial_pitch() const { return b_pitch; }
};

/// Everything but the tensor maps, for slices held in that workspace.
[[nodiscard]] GemmParameters sliced_parameters(const GemmDescription& description, const GemmArguments& arguments,
                                               const SlicedLayout& layout, void* workspace);

/// Why products of slices cannot do this problem, whatever the slices; empty if they can.
[[nodiscard]] std::string_view sliced_refuses(const plan::Problem& problem, const Device& device);

/// Seconds at that rate, in whole waves, with the split.
[[nodiscard]] double sliced_cost(const GemmDescription& description, const Device& device, double flops_per_second,
                                 int bytes_per_block);

/// Traffic with device memory: bytes_per_element of A and B, and C.
[[nodiscard]] double sliced_model_bytes(const GemmDescription& description, double bytes_per_element);

inline constexpr GemmTypes f32_types[] = {{ElementType::f32, ElementType::f32}};

/// The tensor map of C, if it is stored that way.
[[nodiscard]] Status make_output_map(GemmParameters& parameters, const GemmDescription& description);

/// The tensor map of the partial sums.
[[nodiscard]] Status make_partials_map(GemmParameters& parameters, const Partials& partials);

/// The split, with all zeroed that must be.
template <class Slices>
[[nodiscard]] Status enqueue_sliced_split(const SplitPair& operands, const SlicedLayout& layout, const Launch& launch) {
  auto* zero = reinterpret_cast<unsigned*>(static_cast<std::byte*>(launch.workspace) + layout.tiny_again);
  return enqueue_split<Slices>(operands, zero, (layout.zeroed - layout.tiny_again) / 4, launch.stream);
}

/// The tensor maps of A's and B's slices.
template <class Slices>
[[nodiscard]] Status make_slice_maps(GemmParameters& p) {
  const auto map = [](CUtensorMap& to, const SplitOperand& operand, int box_rows) {
    const std::int64_t row_bytes = std::int64_t{blocks_of<Slices>(operand.k)} * block_bytes<Slices>;
    constexpr bool is_half = std::is_same_v<typename Slices::Element, __half>;
    return make_tensor_map(to, {.type = is_half ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                .data = operand.slices,
                                .columns = row_bytes / 2,
                                .rows = operand.rows,
                                .batches = operand.batches,
                                .row_bytes = row_bytes,
                                .batch_bytes = row_bytes * operand.rows,
                                .box_columns = Slices::row_bytes / 2,
                                .box_rows = box_rows});
  };
  if (Status s = map(p.a, p.operands.a, tile_m); !s.ok()) return s;
  return map(p.b, p.operands.b, tile_n / cluster);
}

template <class Slices, Turn turn>
[[nodiscard]] Status enqueue_multiply(GemmParameters& p, const Device& device, std::string_view kernel,
                                      cudaStream_t stream) {
  constexpr int shared_bytes = sizeof(Shared<Slices, turn>);
  if (Status s = allow_shared_memory(multiply<Slices, turn>, shared_bytes, kernel); !s.ok()) return s;
  p.blocks = blocks_of<Slices>(p.operands.a.k);
  p.tiny_scale = tiny_scale<Slices>(p.operands.a.k);
  const int ctas = std::min(p.order.count() * p.parts, device.multiprocessors / cluster) * cluster;
  return check(launch_early(true, multiply<Slices, turn>, ctas, cta_threads, shared_bytes, stream, p), "launch",
               kernel);
}

}  // namespace exactile::cuda::sm90
