// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/gemv/division.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "core/checked.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::gemv_family {
namespace {

/// Tiles may turn out by one vector of 8 narrower.
constexpr std::int64_t most_ctas = 0x7fffffff / 8 * 7;

int size_of(const GemmDescription& d) { return static_cast<int>(size_in_bytes(d.types.input)); }

/// Where W is contiguous in neither dimension, the nearer elements are taken for neighbours.
Contiguous contiguous_of(const GemmDescription& d) {
  if (d.n == 1) return Contiguous::k;
  if (d.k == 1) return Contiguous::n;
  return std::abs(d.b.row_stride) < std::abs(d.b.column_stride) ? Contiguous::k : Contiguous::n;
}

int rows_of(const GemmDescription& d) {
  if (d.m == 1) return 1;
  if (d.m == 2 && has_all_instances(d.types.input)) return 2;
  return d.m <= 4 ? 4 : most_rows;
}

int few_lanes(const GemmDescription& d) { return gemv_family::few_lanes(d.types.input, contiguous_of(d)); }

bool multiplies_by_mma(const GemmDescription& d, int lanes) {
  return gemv_family::multiplies_by_mma(d.types.input, contiguous_of(d), lines_of(d, nullptr), lanes);
}

int tile_columns_of(const GemmDescription& d, int lanes) {
  if (contiguous_of(d) == Contiguous::n) return lanes * elements_of_lane(d.types.input, size_of(d), rows_of(d));
  const bool share_k = warps_share_k(Contiguous::k, lines_of(d, nullptr), multiplies_by_mma(d, lanes));
  return (share_k ? 1 : warps) * (32 / lanes) * columns_of_lane(size_of(d), rows_of(d));
}

/// `standard` is derived for Hopper's tensor cores, and from so large a K on with an excess that is covered: see
/// docs/accuracy-proofs.md.
bool has_few_lanes(const GemmDescription& d, const Device& device) {
  const std::int64_t least_k = contiguous_of(d) == Contiguous::k ? 32 : 8;
  return gemv_family::has_few_lanes(d.types.input, contiguous_of(d), lines_of(d, nullptr)) &&
         (!multiplies_by_mma(d, few_lanes(d)) || (device.compute_capability == 90 && d.k >= least_k));
}

/// Tensor cores along lines that are aligned take their place, with tiles of as many columns.
bool has_whole_warps(const GemmDescription& d, const Device& device) {
  return contiguous_of(d) == Contiguous::n || lines_of(d, nullptr) != Lines::aligned || !has_few_lanes(d, device) ||
         !multiplies_by_mma(d, few_lanes(d));
}

double ctas(const Division& division, const GemmDescription& d) {
  return static_cast<double>(division.column_tiles) * division.split_k * static_cast<double>(d.batch_count);
}

/// Where a CTA is alone on its SM for its sums, five slices in a cluster of 5 are a way of their own: larger clusters
/// are hard to place there.
bool has_five(const GemmDescription& d) { return size_of(d) == 16 && rows_of(d) == most_rows; }

/// So many that few CTAs have no slice. Clusters of 5, otherwise, and 7 would fill few SMs: so many slices meet in
/// memory.
int ranks_of(const GemmDescription& d, int split_k) {
  if (has_five(d) && split_k == 5) return 5;
  constexpr int useful[] = {8, 6, 4, 3, 2, 1};
  int best = most_ranks;
  for (const int ranks : useful)
    if (ranks * most_ranks >= split_k && core::round_up(split_k, ranks) < core::round_up(split_k, best)) best = ranks;
  return best;
}

/// Of 1, 2, 3, 4, 6, 8, 12 and so on, and 5.
int next_split(const GemmDescription& d, int split_k) {
  if (split_k == 1) return 2;
  if (has_five(d) && (split_k == 4 || split_k == 5)) return split_k + 1;
  return std::has_single_bit(static_cast<unsigned>(split_k)) ? split_k / 2 * 3 : split_k / 3 * 4;
}

/// By what an instance loads: whole vectors, single elements or words; along K or N. What a cluster adds to a CTA's
/// time is counted with its rates, too, and tiles along K have as many columns for tensor cores as without.
int path_of(const Division& division, const GemmDescription& d) {
  constexpr int along_n = 1, by_elements = 2, in_cluster = 4, by_words = 8, by_mma_along_k = 16;
  return (division.contiguous == Contiguous::n   ? along_n
          : multiplies_by_mma(d, division.lanes) ? by_mma_along_k
                                                 : 0) +
         (division.ranks > 1 ? in_cluster : 0) +
         (division.by_vectors                    ? 0
          : lines_of(d, nullptr) == Lines::words ? by_words
                                                 : by_elements);
}

Candidate candidate(const GemmDescription& d, const Division& division, const Device& device) {
  const int columns = division.contiguous == Contiguous::k ? columns_of_lane(size_of(d), division.rows)
                                                           : division.tile_columns / division.lanes;
  const bool by_mma = multiplies_by_mma(d, division.lanes);
  const std::int64_t of_sums =
      bytes_of_sums(by_mma, division.rows, columns, size_in_bytes(accumulator_type(d.types.input)));
  const auto size = static_cast<double>(size_of(d));
  const double matrix = static_cast<double>(d.n) * static_cast<double>(d.k) * size;
  const double vectors = static_cast<double>(d.m) * static_cast<double>(d.k) * size;
  const int ctas_per_sm = ctas_of_sm(of_sums, steps_ahead(size_of(d), division.contiguous, by_mma, of_sums));
  const int clusters = ctas_per_sm * sms_filled(device, division.ranks) / division.ranks;
  const double sums = static_cast<double>(workspace_bytes(d, division));
  return {{.bm = division.rows, .bn = division.tile_columns, .split_k = division.split_k},
          {.tiles = ctas(division, d),
           .slots = static_cast<double>(clusters) * division.ranks,
           .steps = static_cast<double>(division.k_of_slice * division.tile_columns) * size / 65536,
           .bytes = static_cast<double>(d.batch_count) * (matrix + vectors),
           .copied_bytes = 2 * sums,
           .side_kernels = division.reduces_in_memory() ? 1 : 0,
           .path = path_of(division, d)}};
}

}  // namespace

bool is_transposed(const GemmDescription& description) { return description.n < description.m; }

GemmDescription oriented(const GemmDescription& description) {
  return is_transposed(description) ? plan::transposed(description) : description;
}

Lines lines_of(const GemmDescription& d, const void* w) {
  constexpr std::int64_t vector = 16, word = 4;
  const bool along_k = contiguous_of(d) == Contiguous::k;
  const std::int64_t near = along_k ? d.b.row_stride : d.b.column_stride;
  const std::int64_t far = (along_k ? d.b.column_stride : d.b.row_stride) * size_of(d);
  if (size_of(d) == vector) return Lines::aligned;  // a vector is an element, wherever it lies
  // A vector that reaches beyond its line must end within the next one.
  if (near != 1 || (std::abs(far) < vector && (along_k ? d.n : d.k) > 1)) return Lines::elements;
  const auto begin_at_multiples_of = [&](std::int64_t bytes) {
    return !d.b.pointer_array && far % bytes == 0 &&
           (d.batch_count == 1 || d.b.batch_stride * size_of(d) % bytes == 0) &&
           reinterpret_cast<std::uintptr_t>(w) % static_cast<std::uintptr_t>(bytes) == 0;
  };
  if (begin_at_multiples_of(vector)) return Lines::aligned;
  if (along_k && d.types.input == ElementType::i8) return begin_at_multiples_of(word) ? Lines::words : Lines::elements;
  return Lines::shifted;
}

Division division_of(const GemmDescription& d, const Device& device, int split_k, int lanes) {
  const Lines lines = lines_of(d, nullptr);
  Division division{.contiguous = contiguous_of(d),
                    .rows = rows_of(d),
                    .by_vectors = lines == Lines::aligned || lines == Lines::shifted};
  division.lanes = lanes;
  division.tile_columns = tile_columns_of(d, lanes);
  division.column_tiles = core::ceil_divide(d.n, division.tile_columns);
  division.k_of_slice =
      core::round_up(core::ceil_divide(std::max<std::int64_t>(d.k, 1), split_k),
                     slice_step(division.contiguous, d.types.input, size_of(d), division.rows, lanes));
  division.split_k = static_cast<int>(core::ceil_divide(std::max<std::int64_t>(d.k, 1), division.k_of_slice));
  if (device.compute_capability < 90) return division;
  division.ranks = ranks_of(d, division.split_k);
  division.split_k = static_cast<int>(core::round_up(division.split_k, division.ranks));
  return division;
}

int lanes_of(const GemmDescription& d, const Device& device, const Configuration& configuration) {
  const bool are_few = has_few_lanes(d, device) && configuration.bn == tile_columns_of(d, few_lanes(d));
  return are_few || !has_whole_warps(d, device) ? few_lanes(d) : 32;
}

std::int64_t workspace_bytes(const GemmDescription& d, const Division& division) {
  if (!division.reduces_in_memory()) return 0;
  return division.clusters() * d.m * d.n * d.batch_count * size_in_bytes(accumulator_type(d.types.input));
}

std::string_view refuses(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description);
  if (d.m > most_rows) return "for at most 8 rows or columns";
  if (ctas(division_of(d, device, 1, 32), d) > static_cast<double>(most_ctas)) return "more CTAs than one grid has";
  return {};
}

std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description);
  constexpr int most_splits = 64;
  std::vector<Candidate> all;
  for (const int lanes : {32, few_lanes(d)}) {
    if (!(lanes == 32 ? has_whole_warps(d, device) : has_few_lanes(d, device))) continue;
    int last = 0;
    for (int split_k = 1; split_k <= most_splits; split_k = next_split(d, split_k)) {
      const Division division = division_of(d, device, split_k, lanes);
      if (division.split_k <= last) continue;
      const bool is_too_large =
          ctas(division, d) > static_cast<double>(most_ctas) || workspace_bytes(d, division) > device.memory_bytes / 16;
      if (is_too_large) break;
      last = division.split_k;
      all.push_back(candidate(d, division, device));
    }
  }
  return all;
}

}  // namespace exactile::cuda::gemv_family
