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
#include "cuda/isa/mma_narrow.cuh"
#include "cuda/isa/read_once.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/narrow/output.cuh"

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
  narrow::Output<DeviceSum<In>> out;  ///< its columns are the lines
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

union Words {
  uint4 all;
  std::uint32_t word[4];
  static __device__ Words zero() { return {.all = {0, 0, 0, 0}}; }
};

/// Elements first, first + 1, ... < end of a line with that stride, as far as they are there.
template <class In>
__device__ inline Words gather(const In* data, std::int64_t stride, int first, int end) {
  constexpr int units = 16 / sizeof(In);
  using Bits = std::conditional_t<sizeof(In) == 2, std::uint16_t, std::uint8_t>;
  union {
    Words words;
    Bits bits[units];
  } out{Words::zero()};
#pragma unroll
  for (int e = 0; e < units; ++e)
    if (first + e < end) out.bits[e] = reinterpret_cast<const Bits*>(data)[(first + e) * stride];
  return out.words;
}

/// A stage of a warp, in lines of 128 bytes, swizzled as TMA does: of K for each line and row, or, where the lines are
/// contiguous, of 64 lines for each k.
template <class S>
struct alignas(1024) Stage {
  Words lines[tile_lines][8];
  Words rows[S::rows][8];

  [[nodiscard]] static __device__ int swizzled(int line, int piece) { return piece ^ line % 8; }
};

/// Where a warp reads.
template <class S>
class Reader {
 public:
  using In = typename S::Element;

  __device__ Reader(const Work<In>& work, int product, int first_line)
      : work_(work), product_(product), first_line_(first_line) {}

  /// The stage from k on, by a warp; what lies beyond the operands is zero.
  __device__ void fill(Stage<S>& to, int k, std::uint64_t* full) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (S::uses_tma) {
      if (lane != 0) return;
      isa::mbarrier_arrive_expect(full, sizeof(to));
      const int product_of_lines = work_.lines_are_shared ? 0 : product_;
      isa::tma_load(to.lines, &work_.lines_map, S::along_k ? k : first_line_, S::along_k ? first_line_ : k,
                    product_of_lines, full, isa::evict_first());
      isa::tma_load(to.rows, &work_.rows_map, k, 0, work_.rows_are_shared ? 0 : product_, full);
    } else {
      const In* const lines = product_base(work_.lines, work_.lines_layout, product_);
      const In* const rows = product_base(work_.rows, work_.rows_layout, product_);
      OperandLayout layout = work_.lines_layout;
      if constexpr (!S::along_k) {
        layout.row_stride = work_.lines_layout.column_stride;
        layout.column_stride = work_.lines_layout.row_stride;
      }
      copy(&to.lines[0][0], tile_lines, lines, layout, S::along_k ? first_line_ : k,
           S::along_k ? work_.out.columns : work_.k, S::along_k ? k : first_line_,
           S::along_k ? work_.k : work_.out.columns);
      copy(&to.rows[0][0], S::rows, rows, work_.rows_layout, 0, work_.out.rows, k, work_.k);
      __syncwarp();
      if (lane == 0) isa::mbarrier_arrive(full);
    }
  }

 private:
  /// Lines of 128 bytes, element by element.
  static __device__ void copy(Words* to, int lines, const In* data, const OperandLayout& layout, int first_line,
                              int end_line, int first, int end) {
    for (int i = static_cast<int>(threadIdx.x) % 32; i < lines * 8; i += 32) {
      const int line = i / 8, piece = i % 8;
      to[line * 8 + Stage<S>::swizzled(line, piece)] = first_line + line < end_line
                                                           ? gather(data + (first_line + line) * layout.row_stride,
                                                                    layout.column_stride, first + piece * S::units, end)
                                                           : Words::zero();
    }
  }

  const Work<In>& work_;
  int product_;
  int first_line_;
};

/// A warp's 64 lines times the rows.
template <class S>
class WarpSums {
 public:
  using Sum = typename S::Sum;

  __device__ void clear() {
#pragma unroll
    for (auto& fragment : sums_)
#pragma unroll
      for (auto& group : fragment)
#pragma unroll
        for (Sum& x : group) x = 0;
  }

  __device__ void add(const Stage<S>& stage) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int step = 0; step < stage_bytes / 32; ++step) {
      std::uint32_t rows[S::row_groups][4];  // an instruction takes the first two, or those of both groups
#pragma unroll
      for (int r = 0; r < S::row_groups; r += 2) {
        // Matrices 0 and 1: rows 0 to 7, 2 and 3: rows 8 to 15 or again the first.
        const int row = (8 * r + lane % 8 + lane / 16 * 8) % S::rows;
        isa::load_matrices(rows[r], &stage.rows[row][Stage<S>::swizzled(row, 2 * step + lane / 8 % 2)]);
      }
#pragma unroll
      for (int f = 0; f < 4; ++f) {
        std::uint32_t lines[4];
        load_lines(stage, step, f, lines);
#pragma unroll
        for (int r = 0; r < S::row_groups; ++r) {
          const std::uint32_t of_group[2] = {rows[r & ~1][r % 2 * 2], rows[r & ~1][r % 2 * 2 + 1]};
          isa::mma<typename S::Element>(sums_[f][r], lines, of_group);
        }
      }
    }
  }

  /// += more, or = more if it is the first.
  __device__ void take(const WarpSums& more, bool is_first) {
#pragma unroll
    for (int f = 0; f < 4; ++f)
#pragma unroll
      for (int r = 0; r < S::row_groups; ++r)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sums_[f][r][e] = is_first ? more.sums_[f][r][e] : cuda::add(sums_[f][r][e], more.sums_[f][r][e]);
  }

  /// [row][line]
  __device__ void store(Sum* to) const {
    const int group = static_cast<int>(threadIdx.x) % 32 / 4, member = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int f = 0; f < 4; ++f)
#pragma unroll
      for (int r = 0; r < S::row_groups; ++r)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          to[(8 * r + 2 * member + e % 2) * tile_lines + 16 * f + group + e / 2 * 8] = sums_[f][r][e];
  }

 private:
  /// 16 lines and 32 bytes of K.
  static __device__ void load_lines(const Stage<S>& stage, int step, int f, std::uint32_t (&to)[4]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (S::along_k) {
      const int line = 16 * f + lane % 16;
      isa::load_matrices(to, &stage.lines[line][Stage<S>::swizzled(line, 2 * step + lane / 16)]);
    } else {
      const int k = 16 * step + lane % 8 + lane / 16 * 8;
      isa::load_matrices_transposed(to, &stage.lines[k][Stage<S>::swizzled(k, 2 * f + lane / 8 % 2)]);
    }
  }

  Sum sums_[4][S::row_groups][4];
};

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
  void* const base = is_half ? narrow::matrix_of<2>(c, product) : narrow::matrix_of<4>(c, product);
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
