// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/simt/division.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/checked.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::simt {
namespace {

constexpr int few_rows = 8;                             ///< of a tile
constexpr int many_rows = 64;                           ///< the same, from there on
constexpr std::int64_t most_k = std::int64_t{1} << 30;  ///< of a work tile: they are counted in 32 bits
constexpr int short_chunks = 16;                        ///< in the path of a Demand
constexpr std::int64_t shortest_slice = 2 * step_k;     ///< two panels: what is loaded before the first is multiplied

double real(std::int64_t x) { return static_cast<double>(x); }

/// Whether the sums of separate chunks take more than a large L2, and what a device would miss.
bool are_too_large(const GemmDescription& d, std::int64_t chunks) {
  constexpr double most_bytes = 512e6;
  return real(chunks) * real(d.m) * real(d.n) * real(d.batch_count) *
             real(size_in_bytes(accumulator_type(d.types.input))) >
         most_bytes;
}

/// Whether an operand, MN-major, is read 16 bytes at a time, wherever the first one lies.
bool is_read_by_vectors(const OperandLayout& layout, std::int64_t line_stride, std::int64_t k_stride,
                        std::int64_t lines, std::int64_t bytes) {
  const std::int64_t vector = 16 / bytes;
  return line_stride == 1 && lines % vector == 0 && k_stride % vector == 0 && layout.batch_stride % vector == 0 &&
         !layout.pointer_array;
}
bool a_is_read_by_vectors(const GemmDescription& d) {
  return is_read_by_vectors(d.a, d.a.row_stride, d.a.column_stride, d.m, size_in_bytes(d.types.input));
}
bool b_is_read_by_vectors(const GemmDescription& d) {
  return is_read_by_vectors(d.b, d.b.column_stride, d.b.row_stride, d.n, size_in_bytes(d.types.input));
}

/// A view that repeats elements may be far larger packed than it is, and a large operand not fit beside itself.
double packed_bytes(const GemmDescription& d, std::int64_t lines) {
  return real(size_in_bytes(d.types.input)) * real(packed_pitch(lines)) * real(d.k);
}
bool is_small_packed(const GemmDescription& d, std::int64_t lines, const Device& device) {
  return packed_bytes(d, lines) <= real(device.memory_bytes) / 8;
}

Division whole_division(const GemmDescription& d, const TileSize& tile) {
  Division division;
  division.row_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.m, tile.bm));
  division.column_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.n, tile.bn));
  division.chunks = core::ceil_divide(d.k, chunk_k);
  division.chunks_per_slice = division.chunks;
  return division;
}

/// Whether a slice may be shorter than a chunk.
bool cuts_chunks(const GemmDescription& d, const TileSize& tile) {
  return tile.bm < many_rows && d.types.input == ElementType::f32;
}

/// The powers of two below `chunks`, that number, and the powers of two above it up to `most`.
std::vector<std::int64_t> splits_of(std::int64_t chunks, std::int64_t most) {
  std::vector<std::int64_t> all;
  std::int64_t split_k = 1;
  for (; split_k < chunks; split_k *= 2) all.push_back(split_k);
  all.push_back(chunks);
  for (split_k = split_k == chunks ? 2 * split_k : split_k; split_k <= most; split_k *= 2) all.push_back(split_k);
  return all;
}

Candidate candidate(const GemmDescription& d, const Device& device, const TileSize& tile, const Division& division,
                    const Packing& packs) {
  const std::int64_t in = size_in_bytes(d.types.input), sum = size_in_bytes(accumulator_type(d.types.input));
  const double c_elements = real(d.m) * real(d.n) * real(d.batch_count);
  const auto k_of_slice = std::min(real(d.k), real(division.chunks_per_slice * division.k_of_chunk));
  Demand demand{.tiles = real(division.work_tiles(d.batch_count)),
                .slots = real(device.sm_count),  // CTAs of an SM take turns
                .steps = std::ceil(k_of_slice / step_k),
                .bytes = real(in) * real(d.k) * real(d.batch_count) * (real(d.m) + real(d.n)) +
                         real(size_in_bytes(d.types.output)) * c_elements,
                .side_kernels = (packs.a ? 1 : 0) + (packs.b ? 1 : 0),
                .path = (packs.any() ? 0 : path_of(d)) + (division.k_of_chunk < chunk_k ? short_chunks : 0)};
  if (packs.a) demand.copied_bytes += real(in) * real(d.m) * real(d.k) + packed_bytes(d, d.m);
  if (packs.b) demand.copied_bytes += real(in) * real(d.n) * real(d.k) + packed_bytes(d, d.n);
  if (division.split_k > 1) {
    demand.copied_bytes += 2 * real(sum) * c_elements * real(division.chunks);
    ++demand.side_kernels;
  }
  return {{.bm = tile.bm, .bn = tile.bn, .split_k = static_cast<int>(division.split_k), .pack = packs.any() ? 1 : 0},
          demand};
}

}  // namespace

int path_of(const GemmDescription& d) {
  if (size_in_bytes(d.types.input) != 4) return 0;
  constexpr std::int64_t line = 32;  // of L2, in elements
  const int of_b = b_is_read_by_vectors(d) ? 0 : d.b.column_stride == 1 ? 1 : 2;
  if (d.a.row_stride != 1) return of_b;
  // Vectors are given up where one of the two cannot be read by them. All CTAs ask for the same short lines at once.
  return of_b + (!a_is_read_by_vectors(d) || of_b == 1 ? 3 : d.m < line ? 6 : 0);
}

Packing packing(const GemmDescription& d, const Device& device, const TileSize& tile) {
  if (size_in_bytes(d.types.input) != 4 || tile.bm <= few_rows || d.batch_count != 1 || d.a.pointer_array ||
      d.b.pointer_array)
    return {};
  Packing packs{.a = tile.bm >= many_rows && !a_is_read_by_vectors(d), .b = !b_is_read_by_vectors(d)};
  // Small tiles read B by vectors beside a K-major A alone.
  if (tile.bm < many_rows && (d.a.column_stride != 1 || d.b.row_stride == 1 || d.n < packed_step)) return {};
  return is_small_packed(d, d.m, device) && is_small_packed(d, d.n, device) ? packs : Packing();
}

bool is_transposed(const GemmDescription& d, const TileSize& tile) {
  if (tile.bm <= few_rows && d.m != d.n) return d.n < d.m;
  // No bit depends on it here, so a single column is taken as a row, unlike in plan::is_column_major().
  return d.c.row_stride == 1 && (d.c.column_stride != 1 || d.n == 1);
}

GemmDescription oriented(const GemmDescription& d, bool transposed) { return transposed ? plan::transposed(d) : d; }

Division with_split_k(Division division, std::int64_t split_k) {
  division.chunks_per_slice = core::ceil_divide(division.chunks, std::min(split_k, division.chunks));
  division.split_k = static_cast<std::uint32_t>(core::ceil_divide(division.chunks, division.chunks_per_slice));
  if (division.split_k == 1) division.chunks_per_slice = division.chunks;
  return division;
}

Division division_of(const GemmDescription& d, const TileSize& tile, const Configuration& configuration) {
  Division division = whole_division(d, tile);
  if (cuts_chunks(d, tile) && configuration.split_k > division.chunks) {
    division.k_of_chunk =
        static_cast<int>(core::round_up(core::ceil_divide(d.k, std::int64_t{configuration.split_k}), step_k));
    division.chunks = core::ceil_divide(d.k, division.k_of_chunk);
  }
  return with_split_k(division, configuration.split_k);
}

std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device, const TileSize& tile) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, tile));
  if (tile.bm <= few_rows && 2 * d.m <= tile.bm && problem.parameters.empty()) return {};
  const Division whole = whole_division(d, tile);
  const double tiles = real(whole.work_tiles(d.batch_count));
  const int slots = device.sm_count * tile.ctas;
  const Packing packs = packing(d, device, tile);
  std::vector<Candidate> all;
  const auto add = [&](const Division& division) {
    all.push_back(candidate(d, device, tile, division, {}));
    if (packs.any()) all.push_back(candidate(d, device, tile, division, packs));
  };
  for (const std::int64_t split_k : splits_of(whole.chunks, cuts_chunks(d, tile) ? d.k / shortest_slice : 1)) {
    const Division division = division_of(d, tile, {.split_k = static_cast<int>(split_k)});
    if (!all.empty() && division.split_k <= all.back().configuration.split_k) continue;
    const bool is_possible =
        division.split_k == 1 || (tiles * division.split_k <= 0x7fffffff && !are_too_large(d, division.chunks));
    // Where not even one slice for each chunk is short enough, the longest is taken.
    if (!all.empty() && !is_possible) break;
    if (division.chunks_per_slice <= most_k / chunk_k || split_k >= whole.chunks) add(division);
    if (tiles * real(split_k) > 8.0 * slots) break;  // work tiles enough for every SM
  }
  if (all.empty()) add(with_split_k(whole, whole.chunks));
  return all;
}

std::string_view refuses(const plan::Problem& problem, const TileSize& tile) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, tile));
  const double tiles = real(core::ceil_divide(d.m, tile.bm)) * real(core::ceil_divide(d.n, tile.bn));
  if (tiles * real(d.batch_count) > 0x7fffffff) return "more tiles than one grid has blocks";
  if (d.k > std::int64_t{1} << 40) return "K has more chunks than one grid has blocks";
  if (problem.accuracy != Accuracy::standard && problem.accuracy != Accuracy::reduced)
    return "keeps the bound of the plain loop only";
  return "";
}

}  // namespace exactile::cuda::simt
