// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products with few rows: what counts is to keep as many bytes of B on their way from memory as it takes.
///
/// A warp streams 64 columns of B through a pipeline of its own in shared memory, 128 bytes of K a stage, and
/// multiplies them with the rows through mma.sync. Columns of B are the instruction's rows, the rows of A as its
/// columns. K is split into slices, a function of k alone; their sums meet in shared memory, are added in fours, and
/// the fours' sums in order, by all CTAs of a cluster: bits depend neither on the grid nor on the other rows.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/few_rows/reader.cuh"
#include "cuda/kernels/sm90/few_rows/warp_sums.cuh"

namespace exactile::cuda::sm90::few_rows {

/// What a warp streams through.
template <class S>
struct Pipeline {
  Stage<S>* stage;
  std::uint64_t* full;
};

/// Sums of this warp's K slices, or of its groups of them: [sum][row][column].
template <class S>
__device__ inline void stream_slices(const Parameters<typename S::Element>& p, const Reader<S>& reader, int first,
                                     int end, const Pipeline<S>& pipeline, typename S::Accumulator* to) {
  const Division& division = p.division;
  const int end_k = min(end * division.k_per_slice, p.k);
  const bool by_groups = division.warps_have_groups();
  int k = first * division.k_per_slice;
  for (int slot = 0; slot < division.stages; ++slot)
    if (const int next = k + slot * S::stage_k; next < end_k)
      reader.fill(pipeline.stage[slot], next, &pipeline.full[slot]);
  WarpAccumulators<S> sums, group;
  sums.clear();
  int end_slice = k + division.k_per_slice;
  int k_slice = 0;
  int slot = 0;
  std::uint32_t parity = 0;
  for (; k < end_k; k += S::stage_k) {
    isa::mbarrier_wait(&pipeline.full[slot], parity);
    sums.add(pipeline.stage[slot]);
    __syncwarp();
    if (const int next = k + division.stages * S::stage_k; next < end_k)
      reader.fill(pipeline.stage[slot], next, &pipeline.full[slot]);
    if (++slot == division.stages) {
      slot = 0;
      parity ^= 1;
    }
    const bool is_last = k + S::stage_k >= end_k;
    if (!is_last && k + S::stage_k < end_slice) continue;
    group.take(sums, !by_groups || k_slice % slices_in_group == 0);
    sums.clear();
    ++k_slice;
    if (is_last || !by_groups || k_slice % slices_in_group == 0) {
      group.store(to);
      to += S::slice_sums;
    }
    end_slice += division.k_per_slice;
  }
}

/// Adds up the K slices of each group of a CTA, in order, where the group's first slice lies.
template <class S>
__device__ inline void add_groups(typename S::Accumulator* sums, int used, int k_slices) {
  const int groups = (k_slices + slices_in_group - 1) / slices_in_group;
  for (int e = static_cast<int>(threadIdx.x); e < used * groups; e += static_cast<int>(blockDim.x)) {
    typename S::Accumulator* const group = sums + e / used * slices_in_group * S::slice_sums + e % used;
    typename S::Accumulator x = *group;
#pragma unroll
    for (int k_slice = 1; k_slice < slices_in_group; ++k_slice)
      if (k_slice < k_slices - e / used * slices_in_group) x = add(x, group[k_slice * S::slice_sums]);
    *group = x;
  }
}

template <class S>
__global__ void __launch_bounds__(most_threads, 1)
    few_rows_kernel(const __grid_constant__ Parameters<typename S::Element> p) {
  using Accumulator = typename S::Accumulator;
  extern __shared__ std::byte dynamic[];
  const Division& division = p.division;
  // The same place in all CTAs of a cluster: all begin at the same address.
  auto* const stages = reinterpret_cast<Stage<S>*>(dynamic + (1024 - isa::shared_address(dynamic) % 1024) % 1024);
  auto* const full = reinterpret_cast<std::uint64_t*>(stages + division.warps * division.stages);
  auto* const sums = reinterpret_cast<Accumulator*>(full + division.warps * division.stages);
  const int rank = static_cast<int>(blockIdx.x) % division.cluster;
  const int place = static_cast<int>(blockIdx.x) / division.cluster;
  const int product = place / division.tiles;
  const int first_column = place % division.tiles * tile_n;
  const int slices_of_cta = division.groups_of_cta() * slices_in_group;
  const int first_slice = rank * slices_of_cta;
  const int end_slice = min(first_slice + slices_of_cta, division.k_slices);

  isa::start_kernel_after();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Pipeline<S> pipeline{stages + warp * division.stages, full + warp * division.stages};
  if (threadIdx.x % 32 == 0) {
    for (int slot = 0; slot < division.stages; ++slot) isa::mbarrier_init(&pipeline.full[slot], 1);
    isa::mbarrier_init_fence();
  }
  __syncwarp();
  isa::wait_for_kernel_before();
  const int of_warp = division.slices_of_warp();
  const int first = first_slice + warp * of_warp;
  const int end = min(first + of_warp, end_slice);
  const int span = division.warps_have_groups() ? slices_in_group : 1;  // K slices of a sum that is kept
  if (first < end)
    stream_slices<S>(p, Reader<S>(p, product, first_column), first, end, pipeline,
                     sums + warp * of_warp / span * S::slice_sums);
  __syncthreads();
  const int used = p.out.rows * tile_n;
  const int group_sums = S::slice_sums * (slices_in_group / span);  // from group to group
  if (span == 1) add_groups<S>(sums, used, end_slice - first_slice);
  isa::cluster_sync();
  const auto& c = p.out;
  const bool is_half = c.type == ElementType::f16 || c.type == ElementType::bf16;
  void* const base = is_half ? native::matrix_of<2>(c, product) : native::matrix_of<4>(c, product);
  const int threads = static_cast<int>(blockDim.x);
  for (int e = rank * threads + static_cast<int>(threadIdx.x); e < used; e += division.cluster * threads) {
    const std::int64_t i = e / tile_n;
    const std::int64_t j = first_column + e % tile_n;
    if (j >= c.columns) continue;
    Accumulator x{};
#pragma unroll 8
    for (int group = 0; group < division.groups(); ++group) {
      const Accumulator* const of_cta = sums + group % division.groups_of_cta() * group_sums + e;
      const Accumulator y = *isa::of_cta(of_cta, group / division.groups_of_cta());
      x = group == 0 ? y : add(x, y);
    }
    x = c.scaled(x, i, j);
    const std::int64_t at = i * c.layout.row_stride + j * c.layout.column_stride;
    c.store(base, at, c.is_plain ? x : c.value(x, c.reads_c ? c.load(base, at) : Accumulator{}, i, j));
  }
  isa::cluster_sync();  // nobody leaves while others read its sums
}

}  // namespace exactile::cuda::sm90::few_rows
