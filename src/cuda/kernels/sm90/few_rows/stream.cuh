// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products with few rows: what counts is to keep as many bytes of B on their way from memory as it takes.
///
/// A warp streams 64 columns of B ("lines") through a ring of its own in shared memory, 128 bytes of K a stage, and
/// multiplies them with the rows through mma.sync. It goes by the lines as the instruction's rows, the rows of A as its
/// columns. K is cut into parts, a function of k alone; their sums meet in shared memory, are added in fours, and the
/// fours' sums in order, by all CTAs of a cluster: bits depend neither on the grid nor on the other rows.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/few_rows/reader.cuh"
#include "cuda/kernels/sm90/few_rows/warp_sums.cuh"

namespace exactile::cuda::sm90::few_rows {

/// What a warp streams through.
template <class S>
struct Ring {
  Stage<S>* stage;
  std::uint64_t* full;
};

/// Sums of this warp's parts, or of its groups of them: [sum][row][line].
template <class S>
__device__ inline void stream_parts(const Work<typename S::Element>& work, const Reader<S>& reader, int first, int end,
                                    const Ring<S>& ring, typename S::Sum* to) {
  const Division& division = work.division;
  const int end_k = min(end * division.part_terms, work.k);
  const bool by_groups = division.warps_have_groups();
  int k = first * division.part_terms;
  for (int slot = 0; slot < division.stages; ++slot)
    if (const int next = k + slot * S::stage_terms; next < end_k) reader.fill(ring.stage[slot], next, &ring.full[slot]);
  WarpSums<S> sums, group;
  sums.clear();
  int end_part = k + division.part_terms;
  int part = 0;
  int slot = 0;
  std::uint32_t parity = 0;
  for (; k < end_k; k += S::stage_terms) {
    isa::mbarrier_wait(&ring.full[slot], parity);
    sums.add(ring.stage[slot]);
    __syncwarp();
    if (const int next = k + division.stages * S::stage_terms; next < end_k)
      reader.fill(ring.stage[slot], next, &ring.full[slot]);
    if (++slot == division.stages) {
      slot = 0;
      parity ^= 1;
    }
    const bool is_last = k + S::stage_terms >= end_k;
    if (!is_last && k + S::stage_terms < end_part) continue;
    group.take(sums, !by_groups || part % parts_in_group == 0);
    sums.clear();
    ++part;
    if (is_last || !by_groups || part % parts_in_group == 0) {
      group.store(to);
      to += S::part_sums;
    }
    end_part += division.part_terms;
  }
}

/// Adds up the parts of each group of a CTA, in order, where the group's first part lies.
template <class S>
__device__ inline void add_groups(typename S::Sum* sums, int used, int parts) {
  const int groups = (parts + parts_in_group - 1) / parts_in_group;
  for (int e = static_cast<int>(threadIdx.x); e < used * groups; e += static_cast<int>(blockDim.x)) {
    typename S::Sum* const group = sums + e / used * parts_in_group * S::part_sums + e % used;
    typename S::Sum x = *group;
#pragma unroll
    for (int part = 1; part < parts_in_group; ++part)
      if (part < parts - e / used * parts_in_group) x = add(x, group[part * S::part_sums]);
    *group = x;
  }
}

template <class S>
__global__ void __launch_bounds__(most_threads, 1)
    few_rows_kernel(const __grid_constant__ Work<typename S::Element> work) {
  using Sum = typename S::Sum;
  extern __shared__ std::byte dynamic[];
  const Division& division = work.division;
  // The same place in all CTAs of a cluster: all begin at the same address.
  auto* const rings = reinterpret_cast<Stage<S>*>(dynamic + (1024 - isa::shared_address(dynamic) % 1024) % 1024);
  auto* const full = reinterpret_cast<std::uint64_t*>(rings + division.warps * division.stages);
  auto* const sums = reinterpret_cast<Sum*>(full + division.warps * division.stages);
  const int rank = static_cast<int>(blockIdx.x) % division.cluster;
  const int place = static_cast<int>(blockIdx.x) / division.cluster;
  const int product = place / division.tiles;
  const int first_line = place % division.tiles * tile_lines;
  const int parts_of_cta = division.groups_of_cta() * parts_in_group;
  const int first_part = rank * parts_of_cta;
  const int end_part = min(first_part + parts_of_cta, division.parts);

  isa::start_kernel_after();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Ring<S> ring{rings + warp * division.stages, full + warp * division.stages};
  if (threadIdx.x % 32 == 0) {
    for (int slot = 0; slot < division.stages; ++slot) isa::mbarrier_init(&ring.full[slot], 1);
    isa::mbarrier_init_fence();
  }
  __syncwarp();
  isa::wait_for_kernel_before();
  const int of_warp = division.parts_of_warp();
  const int first = first_part + warp * of_warp;
  const int end = min(first + of_warp, end_part);
  const int span = division.warps_have_groups() ? parts_in_group : 1;  // parts of a sum that is kept
  if (first < end)
    stream_parts<S>(work, Reader<S>(work, product, first_line), first, end, ring,
                    sums + warp * of_warp / span * S::part_sums);
  __syncthreads();
  const int used = work.out.rows * tile_lines;
  const int group_sums = S::part_sums * (parts_in_group / span);  // from group to group
  if (span == 1) add_groups<S>(sums, used, end_part - first_part);
  isa::cluster_sync();
  const auto& c = work.out;
  const bool is_half = c.type == ElementType::f16 || c.type == ElementType::bf16;
  void* const base = is_half ? native::matrix_of<2>(c, product) : native::matrix_of<4>(c, product);
  const int threads = static_cast<int>(blockDim.x);
  for (int e = rank * threads + static_cast<int>(threadIdx.x); e < used; e += division.cluster * threads) {
    const std::int64_t i = e / tile_lines;
    const std::int64_t j = first_line + e % tile_lines;
    if (j >= c.columns) continue;
    Sum x{};
#pragma unroll 8
    for (int group = 0; group < division.groups(); ++group) {
      const Sum* const of_cta = sums + group % division.groups_of_cta() * group_sums + e;
      const Sum y = *isa::of_cta(of_cta, group / division.groups_of_cta());
      x = group == 0 ? y : add(x, y);
    }
    x = c.scaled(x, i, j);
    const std::int64_t at = i * c.layout.row_stride + j * c.layout.column_stride;
    c.store(base, at, c.is_plain ? x : c.value(x, c.reads_c ? c.load(base, at) : Sum{}, i, j));
  }
  isa::cluster_sync();  // nobody leaves while others read its sums
}

}  // namespace exactile::cuda::sm90::few_rows
