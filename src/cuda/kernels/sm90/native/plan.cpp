// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/native/plan.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90::native {
namespace {

constexpr int row_bytes = 128;  // of K in a block

double blocks_of(const GemmDescription& d, ElementType multiplied) {
  return std::ceil(static_cast<double>(d.k) * static_cast<double>(size_in_bytes(multiplied)) / row_bytes);
}

/// Of an operand of so many lines. Lines of 8 bits must be contiguous along K.
OperandLayout reachable(OperandLayout layout, std::int64_t lines, const GemmDescription& d) {
  const bool has_lines_along_k = layout.column_stride == 1;
  const bool may_lie_across = size_in_bytes(d.types.input) == 2;
  if (lines == 1 && has_lines_along_k)
    layout.row_stride = core::round_up(d.k, 16);
  else if (d.k == 1 && layout.row_stride == 1 && may_lie_across)
    layout.column_stride = core::round_up(lines, 16);
  if (d.batch_count == 1) layout.batch_stride = 0;
  return layout;
}

}  // namespace

GemmDescription reachable(GemmDescription d) {
  d.a = reachable(d.a, d.m, d);
  d.b = plan::transposed(reachable(plan::transposed(d.b), d.n, d));
  return d;
}

std::int64_t chunk_blocks_of(const GemmDescription& d, ElementType multiplied, Division division) {
  constexpr double longest_sum = 512, longest_chunk = 256;
  const double blocks = blocks_of(d, multiplied);
  if (division.chunk_blocks > 0) return static_cast<std::int64_t>(std::min<double>(blocks, division.chunk_blocks));
  return static_cast<std::int64_t>(division.depth == 1 && blocks > longest_sum ? longest_chunk : blocks);
}

std::int64_t chunks_of(const GemmDescription& d, ElementType multiplied, Division division) {
  return static_cast<std::int64_t>(
      std::ceil(blocks_of(d, multiplied) / static_cast<double>(chunk_blocks_of(d, multiplied, division))));
}

int stages_for(TileShape tile, int residents) {
  constexpr int bytes = 228 * 1024, reserved = 1024, alignment = 1024;
  const int staging = tile.m / 64 * 16 * 1024 + 1024;
  const int stage = static_cast<int>(row_bytes) * (tile.m + tile.n);
  constexpr int streamed = 14;  // more lose 1 %: memory then has more places to deliver from at a time
  if (streams_a(tile)) return streamed;
  return std::min(most_stages, (bytes / residents - reserved - alignment - staging) / stage);
}

int resident_clusters(const Layout& layout, const Device& device) {
  const int size = layout.cluster.size();
  return layout.residents * sms_filled(device, size) / size;
}

Reach reach_of(const OperandLayout& layout, ElementType element, bool is_converted) {
  const std::int64_t size = size_in_bytes(element);
  constexpr std::int64_t most_bytes = std::int64_t{1} << 39;
  const auto fits = [&](std::int64_t stride) {
    return stride > 0 && stride * size % 16 == 0 && stride * size < most_bytes;
  };
  if (is_converted || layout.pointer_array || (layout.batch_stride != 0 && !fits(layout.batch_stride)))
    return Reach::none;
  if (layout.column_stride == 1 && fits(layout.row_stride)) return Reach::along_k;
  if (layout.row_stride == 1 && fits(layout.column_stride) && size == 2) return Reach::along_lines;
  return Reach::none;
}

Configuration configuration_of(const Layout& layout) {
  return {.bm = layout.tile.m,
          .bn = layout.tile.n,
          .cluster_m = layout.cluster.rows,
          .cluster_n = layout.cluster.columns,
          .cluster_k = layout.cluster.depth,
          .slice_k = layout.slice_blocks * row_bytes,
          .ctas = layout.residents,
          .swap = layout.is_transposed ? 1 : 0};
}

std::string_view why_impossible(const GemmDescription& d, ElementType multiplied, Division division,
                                const Device& device) {
  constexpr double most = 1 << 30;
  const auto rounded = [](std::int64_t size) { return static_cast<double>(size) + 128; };
  const auto chunks = static_cast<double>(chunks_of(d, multiplied, division));
  const auto batch = static_cast<double>(d.batch_count);
  if (rounded(d.m) * rounded(d.n) / (64 * 16) * batch * chunks * division.depth > most)
    return "the product has too many tiles";
  const double partial = chunks == 1 ? 0 : 4.0 * static_cast<double>(d.m) * static_cast<double>(d.n) * batch * chunks;
  const double copies =
      static_cast<double>(size_in_bytes(multiplied)) * batch * (rounded(d.m) + rounded(d.n)) * rounded(d.k);
  if (partial + copies > 0.4 * static_cast<double>(device.memory_bytes))
    return "needs more scratch memory than there is";
  return {};
}

namespace {

/// Clusters that a tile may have, without K's.
std::span<const ClusterShape> clusters_for(TileShape tile, Depth depth) {
  static constexpr ClusterShape streaming[] = {{streaming_rows, 1}};
  static constexpr ClusterShape whole[] = {{2, 1}, {1, 2}, {1, 1}, {2, 2}};
  static constexpr ClusterShape halves[] = {{2, 1}, {1, 2}, {1, 1}, {4, 1}};
  static constexpr ClusterShape quarters[] = {{2, 1}, {1, 2}, {1, 1}};
  if (streams_a(tile)) return streaming;
  if (depth == 1) return whole;
  if (depth == 2) return halves;
  return quarters;
}

/// Bytes that copies of operands read and write, and their kernels.
void add_copies(Demand& demand, const Layout& layout) {
  const GemmDescription& d = layout.d;
  const auto add = [&](const OperandLayout& operand, std::int64_t lines, bool is_a) {
    const Reach reach = reach_of(operand, d.types.input, layout.is_converted());
    if (reach == Reach::along_k || (reach == Reach::along_lines && takes_along_lines(is_a, layout.tile))) return;
    const double bytes = static_cast<double>(lines) * static_cast<double>(d.k) *
                         static_cast<double>(plan::distinct_matrices(operand, d.batch_count)) *
                         static_cast<double>(size_in_bytes(d.types.input) + size_in_bytes(layout.multiplied));
    // Rows that stay rows move in wide words.
    const bool stays = !layout.is_converted() &&
                       (operand.column_stride == 1 || (operand.row_stride == 1 && size_in_bytes(d.types.input) == 2 &&
                                                       takes_along_lines(is_a, layout.tile)));
    (stays ? demand.copied_bytes : demand.turned_bytes) += bytes;
    demand.side_kernels += !stays || demand.copied_bytes == bytes ? 1 : 0;
  };
  add(d.a, d.m, true);
  add(plan::transposed(d.b), d.n, false);
}

/// How rows of an operand lie in L2's lines of 128 bytes: 0 where they begin at whole ones, 1 at whole sectors of 32
/// bytes, 2 elsewhere.
int straddling(const OperandLayout& operand, bool is_a, const Layout& layout) {
  const std::int64_t size = size_in_bytes(layout.multiplied);
  const Reach reach = reach_of(operand, layout.d.types.input, layout.is_converted());
  if (reach == Reach::none || (reach == Reach::along_lines && !takes_along_lines(is_a, layout.tile))) return 0;
  const std::int64_t pitch = size * (reach == Reach::along_k ? operand.row_stride : operand.column_stride);
  return pitch % 128 == 0 || pitch < 128 ? 0 : pitch % 32 == 0 ? 1 : 2;
}

Demand demand_of(const Layout& layout, const Device& device) {
  const GemmDescription& d = layout.d;
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  const double c_elements = real(d.m * d.n) * real(d.batch_count);
  Demand demand{.tiles = real(core::ceil_divide(d.m, layout.tile.m * layout.cluster.rows)) *
                         real(core::ceil_divide(d.n, layout.tile.n * layout.cluster.columns)) *
                         real(d.batch_count * layout.chunks) * layout.cluster.size(),
                .slots = real(resident_clusters(layout, device) * layout.cluster.size()),
                .steps = std::ceil(real(layout.chunk_blocks) / layout.cluster.depth),
                .bytes = real(size_in_bytes(layout.multiplied)) * real(d.k) *
                             real(d.m * plan::distinct_matrices(d.a, d.batch_count) +
                                  d.n * plan::distinct_matrices(d.b, d.batch_count)) +
                         real(size_in_bytes(d.types.output)) * c_elements};
  demand.path = std::max(straddling(d.a, true, layout), straddling(plan::transposed(d.b), false, layout));
  add_copies(demand, layout);
  if (layout.chunks > 1) {
    ++demand.side_kernels;
    demand.copied_bytes += 8 * real(layout.chunks) * c_elements;
  }
  return demand;
}

Layout make_layout(const GemmDescription& description, ElementType multiplied, const TileKind& kind,
                   ClusterShape cluster, int residents, bool is_transposed) {
  return {.d = native::reachable(is_transposed ? plan::transposed(description) : description),
          .multiplied = multiplied,
          .is_transposed = is_transposed,
          .tile = kind.tile,
          .cluster = {cluster.rows, cluster.columns, kind.division.depth},
          .residents = residents,
          .slice_blocks = kind.division.chunk_blocks,
          .chunk_blocks = chunk_blocks_of(description, multiplied, kind.division),
          .chunks = chunks_of(description, multiplied, kind.division)};
}

/// Whether K is long enough to be divided so.
bool is_long_enough(const GemmDescription& d, ElementType multiplied, Division division) {
  if (division.depth > 1 && d.k * size_in_bytes(multiplied) <= (2 * division.depth - 1) * row_bytes) return false;
  return division.chunk_blocks == 0 || chunks_of(d, multiplied, division) > 1;
}

}  // namespace

Layout layout_of(const GemmDescription& description, ElementType multiplied, const Configuration& c) {
  const TileKind kind{{c.bm, c.bn}, {.depth = c.cluster_k, .chunk_blocks = c.slice_k / row_bytes}};
  return make_layout(description, multiplied, kind, {c.cluster_m, c.cluster_n}, c.ctas, c.swap != 0);
}

std::vector<Candidate> candidates(const GemmDescription& description, ElementType multiplied,
                                  std::span<const TileKind> kinds, const Device& device) {
  std::vector<Candidate> all;
  for (const TileKind& kind : kinds) {
    if (!is_long_enough(description, multiplied, kind.division) ||
        !why_impossible(description, multiplied, kind.division, device).empty())
      continue;
    for (const bool is_transposed : {false, true})
      for (const ClusterShape cluster : clusters_for(kind.tile, kind.division.depth)) {
        // Boxes of B would not be whole swizzles.
        if (!streams_a(kind.tile) && kind.tile.n / cluster.rows % 8 != 0) continue;
        for (int residents = 1; residents <= most_residents(kind.tile, has_short_sums(multiplied)); ++residents) {
          const Layout layout = make_layout(description, multiplied, kind, cluster, residents, is_transposed);
          const Demand demand = demand_of(layout, device);
          // The device fills an SM before the next: with fewer tiles some would have none.
          if (residents > 1 && demand.tiles <= (residents - 1) * device.multiprocessors) break;
          all.push_back({configuration_of(layout), demand});
        }
      }
  }
  return all;
}

}  // namespace exactile::cuda::sm90::native
