// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/gemv/division.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/checked.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::gemv_family {
namespace {

constexpr std::int64_t most_ctas = 0x7fffffff;

std::int64_t size_of(const GemmDescription& d) { return size_in_bytes(d.types.input); }

/// Where W is contiguous in neither dimension, the nearer elements are taken for neighbours.
Contiguous contiguous_of(const GemmDescription& d) {
  if (d.n == 1) return Contiguous::k;
  if (d.k == 1) return Contiguous::n;
  return std::abs(d.b.row_stride) < std::abs(d.b.column_stride) ? Contiguous::k : Contiguous::n;
}

int rows_of(const GemmDescription& d) { return d.m == 1 ? 1 : d.m <= 4 ? 4 : most_rows; }

double ctas(const Division& division, const GemmDescription& d) {
  return static_cast<double>(division.column_tiles) * division.split_k * static_cast<double>(d.batch_count);
}

Candidate candidate(const GemmDescription& d, const Division& division, const Device& device) {
  const int columns_of_lane = division.contiguous == Contiguous::k ? columns_of_warp : division.tile_columns / 32;
  const std::int64_t bytes_of_sums = division.rows * columns_of_lane * size_in_bytes(accumulator_type(d.types.input));
  const auto size = static_cast<double>(size_of(d));
  const double matrix = static_cast<double>(d.n) * static_cast<double>(d.k) * size;
  const double vectors = static_cast<double>(d.m) * static_cast<double>(d.k) * size;
  const double sums = static_cast<double>(workspace_bytes(d, division));
  return {{.bm = division.rows, .bn = division.tile_columns, .split_k = division.split_k},
          {.tiles = ctas(division, d),
           .slots = static_cast<double>(device.sm_count) * ctas_of_sm(bytes_of_sums),
           .steps = static_cast<double>(division.k_of_slice * division.tile_columns) * size / 65536,
           .bytes = static_cast<double>(d.batch_count) * (matrix + vectors),
           .copied_bytes = 2 * sums,
           .side_kernels = division.reduces_in_memory() ? 1 : 0,
           .path = (division.contiguous == Contiguous::k ? 0 : 1) + (division.is_aligned ? 0 : 2)}};
}

}  // namespace

bool is_transposed(const GemmDescription& description) { return description.n < description.m; }

GemmDescription oriented(const GemmDescription& description) {
  return is_transposed(description) ? plan::transposed(description) : description;
}

int alignment_of(const GemmDescription& d, const void* w) {
  const bool along_k = contiguous_of(d) == Contiguous::k;
  const std::int64_t near = along_k ? d.b.row_stride : d.b.column_stride;
  const std::int64_t far = along_k ? d.b.column_stride : d.b.row_stride;
  const auto size = static_cast<int>(size_of(d));
  if (near != 1 || d.b.pointer_array) return size;
  for (const int bytes : {16, 4})
    if (bytes > size && far * size % bytes == 0 && (d.batch_count == 1 || d.b.batch_stride * size % bytes == 0) &&
        reinterpret_cast<std::uintptr_t>(w) % bytes == 0)
      return bytes;
  return size;
}

Division division_of(const GemmDescription& d, const Device& device, int split_k) {
  Division division{.contiguous = contiguous_of(d), .rows = rows_of(d), .is_aligned = alignment_of(d, nullptr) == 16};
  const int of_lane = static_cast<int>(std::min<std::int64_t>(most_elements_of_lane, 16 / size_of(d)));
  division.tile_columns = division.contiguous == Contiguous::k ? warps * columns_of_warp : 32 * of_lane;
  division.column_tiles = core::ceil_divide(d.n, division.tile_columns);
  division.k_of_slice = core::round_up(core::ceil_divide(std::max<std::int64_t>(d.k, 1), split_k),
                                       slice_step(division.contiguous, size_of(d)));
  division.split_k = static_cast<int>(core::ceil_divide(std::max<std::int64_t>(d.k, 1), division.k_of_slice));
  if (device.compute_capability < 90) return division;
  division.ranks = std::min(division.split_k, most_ranks);
  division.split_k = static_cast<int>(core::round_up(division.split_k, division.ranks));
  return division;
}

std::int64_t workspace_bytes(const GemmDescription& d, const Division& division) {
  if (!division.reduces_in_memory()) return 0;
  return division.clusters() * d.m * d.n * d.batch_count * size_in_bytes(accumulator_type(d.types.input));
}

std::string_view refuses(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description);
  if (d.m > most_rows) return "for at most 8 rows or columns";
  if (ctas(division_of(d, device, 1), d) > static_cast<double>(most_ctas)) return "more CTAs than one grid has";
  return {};
}

std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description);
  constexpr int most_splits = 4096;
  std::vector<Candidate> all;
  for (int split_k = 1; split_k <= most_splits; split_k *= 2) {
    const Division division = division_of(d, device, split_k);
    if (division.split_k <= split_k / 2) break;  // slices have become as short as they may
    const bool is_too_large =
        ctas(division, d) > static_cast<double>(most_ctas) || workspace_bytes(d, division) > device.memory_bytes / 16;
    if (is_too_large) break;
    all.push_back(candidate(d, division, device));
  }
  return all;
}

}  // namespace exactile::cuda::gemv_family
