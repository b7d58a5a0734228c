// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host side of the f32 products made of slices: what is enqueued, with which tensor maps, in which workspace.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "cuda/kernel.hpp"
#include "cuda/kernels/sm90/gemm.cuh"
#include "cuda/kernels/sm90/splitk_reduce_global.hpp"
#include "cuda/kernels/sm90/tensor_map.hpp"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90 {

/// Clusters that run at a time.
[[nodiscard]] inline int clusters_of(const Device& device) { return device.sm_count / cluster; }

/// The same product with C's columns contiguous, if C has columns or rows contiguous: (A B)^T = B^T A^T.
[[nodiscard]] GemmDescription with_contiguous_rows(const GemmDescription& description);

/// Whether whole tiles would leave more than a thirteenth of the clusters' time idle.
[[nodiscard]] constexpr bool pays_stream_k(int tiles, int clusters) {
  return 12 * std::int64_t{(clusters - tiles % clusters) % clusters} > tiles;
}

/// What distinguishes the workspaces of products.
struct SlicedForm {
  bool may_split_k;  ///< whether K may be split
  bool has_sample;   ///< whether scales have a ScaleSample
};

/// Places in the workspace, in bytes from its start.
struct SlicedWorkspace {
  std::int64_t a_batches;
  std::int64_t b_batches;
  std::int64_t a_pitch;  ///< rows rounded up to whole cluster tiles
  std::int64_t b_pitch;
  TileScheduler scheduler;
  Buckets buckets;
  std::int64_t max_bits;          ///< of A, then of B
  std::int64_t underflows;        ///< the same, for the first slices
  std::int64_t underflows_again;  ///< for the second; from here on all is zeroed first
  std::int64_t fixup_count;
  std::int64_t fixup_heads;
  std::int64_t fixup_blocks;  ///< of A, then of B
  std::int64_t fixup_warps;
  std::int64_t carry_ready;
  std::int64_t split_k_state;
  std::int64_t zeroed;  ///< up to here
  std::int64_t fixup_filled;
  std::int64_t fixup_list;
  std::int64_t fixup_marks;
  std::int64_t a_slices;
  std::int64_t b_slices;
  std::int64_t split_k_sums;
  std::int64_t carry_sums;
  std::int64_t bytes;
  bool has_sample;  ///< of SlicedForm
  int split_k;      ///< of K; where there is room for fix-up there is none for partial sums, and the other way round

  /// Of a description with_contiguous_rows(). `clusters`: that run at a time.
  SlicedWorkspace(const GemmDescription& description, const SlicedForm& form, int clusters);

  /// Whether some tiles are shared by two clusters.
  [[nodiscard]] bool uses_stream_k(int clusters) const;
};

/// A's rows or B's columns, as the split reads them; `data`, slices and scales are not there yet.
[[nodiscard]] SplitOperand split_operand(const GemmDescription& description, const SlicedWorkspace& layout,
                                         Operand operand);

/// Everything but the tensor maps, for slices held in that workspace.
[[nodiscard]] GemmParameters sliced_parameters(const GemmDescription& description, const GemmArguments& arguments,
                                               const SlicedWorkspace& layout, void* workspace);

/// An operand prepared once, by itself: scales, then slices.
struct PrepackedOperand {
  std::int64_t underflows;
  std::int64_t slices;
  std::int64_t bytes;

  PrepackedOperand(const SplitOperand& operand, std::int64_t row_bytes);
  /// Lets the operand's scales and slices be those that lie at `form`.
  void place(SplitOperand& operand, void* form) const;
};

/// Enqueues the zeroing of what must be zero in the workspace, where no split does it on the way.
[[nodiscard]] Status enqueue_zero(const SlicedWorkspace& layout, const Launch& launch);

/// Why f16 or bf16 slices cannot do this problem; empty if they can.
[[nodiscard]] std::string_view slices_refuse(const plan::Problem& problem);

/// The same of a kernel that keeps all slices, so large, in the workspace: that may take half of the device's memory.
[[nodiscard]] std::string_view sliced_refuses(const plan::Problem& problem, const Device& device,
                                              const SlicedForm& form);

/// The one configuration of such a kernel.
[[nodiscard]] std::vector<Candidate> sliced_candidates(const GemmDescription& description, const Device& device,
                                                       const SlicedForm& form);

/// Traffic with device memory: bytes_per_element of A and B, and C.
[[nodiscard]] double sliced_model_bytes(const GemmDescription& description, double bytes_per_element);

inline constexpr GemmTypes f32_types[] = {{ElementType::f32, ElementType::f32}};

/// The tensor map of C, if it is stored that way.
[[nodiscard]] Status make_output_map(GemmParameters& parameters, const GemmDescription& description);

/// Counts tiles that were tried, and those of which `fixup_warps`, if it is not null, has some, into counts[0] and
/// counts[1].
[[nodiscard]] Status enqueue_count(const TileScheduler& scheduler, const std::uint64_t* fixup_warps,
                                   std::uint64_t* counts, cudaStream_t stream);

/// The path of elements that no slices hold, whichever they are.
[[nodiscard]] Path summed_path();

/// Enqueues what computes the elements that the main pass has left: nothing is done where it has left none. The slices
/// are overwritten; the scales' maxima stay. `is_transposed`: A and B have changed places.
[[nodiscard]] Status enqueue_fixup(GemmParameters parameters, bool is_transposed, unsigned* a_underflows,
                                   unsigned* b_underflows, const Device& device, cudaStream_t stream);

/// Bytes of a row's slices.
template <class Slices>
[[nodiscard]] std::int64_t slices_row_bytes(int k) {
  return std::int64_t{blocks_of<Slices>(k)} * block_bytes<Slices>;
}

/// The tensor maps of A's and B's slices, of so many columns at a time.
template <class Slices>
[[nodiscard]] Status make_slice_maps(GemmParameters& p, int width = tile_n) {
  const auto map = [](CUtensorMap& to, const SplitOperand& operand, int box_rows) {
    const std::int64_t row_bytes = slices_row_bytes<Slices>(operand.k);
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
  return map(p.b, p.operands.b, width / cluster);
}

/// More tiny elements than that in a row and a column together, of 2k, are not tried by f16. Where others are spread
/// evenly, some 100 of a sum's products are then of two that are not tiny, and about one sum in 1000 needs fix-up: to
/// list those takes as long as f16 saves. Those of A D and D^-1 B need it from far fewer tiny elements on.
[[nodiscard]] inline unsigned most_underflows(int k) {
  return static_cast<unsigned>(std::max(2.0 * k - 20 * std::sqrt(k), 1.0 * k));
}

template <class Slices, Pass pass>
[[nodiscard]] Status enqueue_multiply(GemmParameters& p, const Device& device, std::string_view kernel,
                                      cudaStream_t stream) {
  constexpr int shared_bytes = sizeof(Shared<Slices, pass>);
  if (Status s = allow_shared_memory(multiply<Slices, pass>, shared_bytes, kernel); !s.ok()) return s;
  p.blocks = blocks_of<Slices>(p.operands.a.k);
  p.underflow_scale = underflow_scale<Slices>(p.operands.a.k);
  p.most_underflows = most_underflows(p.operands.a.k);
  const int tiles = p.scheduler.count() * p.split_k * (tile_n / width_of(pass));
  const int clusters = std::min(tiles, clusters_of(device));
  const bool may_be_cut = pass == Pass::main;
  p.stream_k = {tiles, clusters, p.blocks / Slices::chunk_stages, may_be_cut && pays_stream_k(tiles, clusters)};
  return check(launch_early(true, multiply<Slices, pass>, clusters * cluster, cta_threads, shared_bytes, stream, p),
               "launch", kernel);
}

}  // namespace exactile::cuda::sm90
