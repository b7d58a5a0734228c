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
OperandLayout reachable(OperandLayout layout, std::int64_t mn_count, const GemmDescription& d) {
  const bool has_lines_along_k = layout.column_stride == 1;
  const bool may_lie_across = size_in_bytes(d.types.input) == 2;
  if (mn_count == 1 && has_lines_along_k)
    layout.row_stride = core::round_up(d.k, 16);
  else if (d.k == 1 && layout.row_stride == 1 && may_lie_across)
    layout.column_stride = core::round_up(mn_count, 16);
  if (d.batch_count == 1) layout.batch_stride = 0;
  return layout;
}

}  // namespace

GemmDescription reachable(GemmDescription d) {
  d.a = reachable(d.a, d.m, d);
  d.b = plan::transposed(reachable(plan::transposed(d.b), d.n, d));
  return d;
}

std::int64_t blocks_per_slice_of(const GemmDescription& d, ElementType multiplied, Division division) {
  constexpr double longest_sum = 512, longest_slice = 256;
  const double blocks = blocks_of(d, multiplied);
  if (division.slice_blocks > 0) return static_cast<std::int64_t>(std::min<double>(blocks, division.slice_blocks));
  return static_cast<std::int64_t>(division.cluster_k == 1 && blocks > longest_sum ? longest_slice : blocks);
}

std::int64_t split_k_of(const GemmDescription& d, ElementType multiplied, Division division) {
  return static_cast<std::int64_t>(
      std::ceil(blocks_of(d, multiplied) / static_cast<double>(blocks_per_slice_of(d, multiplied, division))));
}

int stages_for(TileShape tile, int ctas_per_sm) {
  constexpr int bytes = 228 * 1024, reserved = 1024, alignment = 1024;
  const int staging = tile.m / 64 * 16 * 1024 + 1024;
  const int stage = static_cast<int>(row_bytes) * (tile.m + tile.n);
  constexpr int streamed = 14;  // more lose 1 %: memory then has more places to deliver from at a time
  if (streams_a(tile)) return streamed;
  return std::min(most_stages, (bytes / ctas_per_sm - reserved - alignment - staging) / stage);
}

int resident_clusters(const LaunchConfig& layout, const Device& device) {
  const int size = layout.cluster.size();
  return layout.ctas_per_sm * sms_filled(device, size) / size;
}

OperandMajor operand_major_of(const OperandLayout& layout, ElementType element, bool is_converted) {
  const std::int64_t size = size_in_bytes(element);
  constexpr std::int64_t most_bytes = std::int64_t{1} << 39;
  const auto fits = [&](std::int64_t stride) {
    return stride > 0 && stride * size % 16 == 0 && stride * size < most_bytes;
  };
  if (is_converted || layout.pointer_array || (layout.batch_stride != 0 && !fits(layout.batch_stride)))
    return OperandMajor::none;
  if (layout.column_stride == 1 && fits(layout.row_stride)) return OperandMajor::k;
  if (layout.row_stride == 1 && fits(layout.column_stride) && size == 2) return OperandMajor::mn;
  return OperandMajor::none;
}

Configuration configuration_of(const LaunchConfig& layout) {
  return {.bm = layout.tile.m,
          .bn = layout.tile.n,
          .cluster_m = layout.cluster.rows,
          .cluster_n = layout.cluster.columns,
          .cluster_k = layout.cluster.k,
          .slice_k = layout.slice_blocks * row_bytes,
          .ctas = layout.ctas_per_sm,
          .swap = layout.is_transposed ? 1 : 0};
}

std::string_view why_impossible(const GemmDescription& d, ElementType multiplied, Division division,
                                const Device& device) {
  constexpr double most = 1 << 30;
  const auto rounded = [](std::int64_t size) { return static_cast<double>(size) + 128; };
  const auto split_k = static_cast<double>(split_k_of(d, multiplied, division));
  const auto batch = static_cast<double>(d.batch_count);
  if (rounded(d.m) * rounded(d.n) / (64 * 16) * batch * split_k * division.cluster_k > most)
    return "the product has too many tiles";
  const double partial = split_k == 1 ? 0 : 4.0 * static_cast<double>(d.m) * static_cast<double>(d.n) * batch * split_k;
  // Of both operands: their addresses, which are not known yet, may ask for it.
  const auto copy = [&](const OperandLayout& operand, std::int64_t lines) {
    return static_cast<double>(size_in_bytes(multiplied)) * rounded(lines) * rounded(d.k) *
           static_cast<double>(plan::distinct_matrices(operand, d.batch_count));
  };
  if (partial + copy(d.a, d.m) + copy(d.b, d.n) > 0.4 * static_cast<double>(device.memory_bytes))
    return "needs more scratch memory than there is";
  return {};
}

namespace {

/// Clusters that a tile may have, without K's.
std::span<const ClusterShape> clusters_for(TileShape tile, ClusterK cluster_k) {
  static constexpr ClusterShape streaming[] = {{streaming_rows, 1}};
  static constexpr ClusterShape whole[] = {{2, 1}, {1, 2}, {1, 1}, {2, 2}};
  static constexpr ClusterShape narrow[] = {{2, 1}, {1, 2}, {1, 1}, {2, 2}, {4, 1}, {4, 2}};
  static constexpr ClusterShape halves[] = {{2, 1}, {1, 2}, {1, 1}, {4, 1}};
  static constexpr ClusterShape quarters[] = {{2, 1}, {1, 2}, {1, 1}};
  if (streams_a(tile)) return streaming;
  if (cluster_k == 1 && tile.n <= 128) return narrow;
  if (cluster_k == 1) return whole;
  if (cluster_k == 2) return halves;
  return quarters;
}

/// Clusters of four rows, where the cluster does not divide K, are for products that have so many rows of tiles; two
/// columns of them for those that have more than one.
bool suits(const LaunchConfig& layout) {
  const ClusterShape& cluster = layout.cluster;
  if (cluster.rows < 4 || cluster.k > 1 || streams_a(layout.tile)) return true;
  const bool has_columns = layout.d.n > layout.tile.n;
  return layout.d.m > 3 * layout.tile.m && has_columns == (cluster.columns > 1);
}

/// Bytes that copies of operands read and write, and their kernels.
void add_copies(Demand& demand, const LaunchConfig& layout) {
  const GemmDescription& d = layout.d;
  const auto add = [&](const OperandLayout& operand, std::int64_t mn_count, bool is_a) {
    const OperandMajor major = operand_major_of(operand, d.types.input, layout.is_converted());
    if (major == OperandMajor::k || (major == OperandMajor::mn && takes_mn_major(is_a, layout.tile))) return;
    const double bytes = static_cast<double>(mn_count) * static_cast<double>(d.k) *
                         static_cast<double>(plan::distinct_matrices(operand, d.batch_count)) *
                         static_cast<double>(size_in_bytes(d.types.input) + size_in_bytes(layout.multiplied));
    // Rows that stay rows move in wide words.
    const bool stays = !layout.is_converted() &&
                       (operand.column_stride == 1 || (operand.row_stride == 1 && size_in_bytes(d.types.input) == 2 &&
                                                       takes_mn_major(is_a, layout.tile)));
    (stays ? demand.copied_bytes : demand.turned_bytes) += bytes;
    demand.side_kernels += !stays || demand.copied_bytes == bytes ? 1 : 0;
  };
  add(d.a, d.m, true);
  add(plan::transposed(d.b), d.n, false);
}

/// How rows of an operand lie in L2's lines of 128 bytes: 0 where they begin at whole ones, 1 at whole sectors of 32
/// bytes, 2 elsewhere.
int straddling(const OperandLayout& operand, bool is_a, const LaunchConfig& layout) {
  const std::int64_t size = size_in_bytes(layout.multiplied);
  const OperandMajor major = operand_major_of(operand, layout.d.types.input, layout.is_converted());
  if (major == OperandMajor::none || (major == OperandMajor::mn && !takes_mn_major(is_a, layout.tile))) return 0;
  const std::int64_t pitch = size * (major == OperandMajor::k ? operand.row_stride : operand.column_stride);
  return pitch % 128 == 0 || pitch < 128 ? 0 : pitch % 32 == 0 ? 1 : 2;
}

/// As store_by() in alignment.hpp decides, but for addresses, beta and the tile's width: 0 by TMA, 1 by rows that lie
/// anywhere, 2 by elements.
int storing(const GemmDescription& d) {
  const bool has_rows = d.c.column_stride == 1;
  const bool is_aligned =
      has_rows ? has_aligned_strides(d, d.n, d.c.row_stride) : has_aligned_strides(d, d.m, d.c.column_stride);
  if (d.bias != Bias::none || d.activation != Activation::none) return 2;
  if (has_rows) return is_aligned ? 0 : 1;
  return is_aligned && d.c.row_stride == 1 ? 0 : 2;
}

Demand demand_of(const LaunchConfig& layout, const Device& device) {
  const GemmDescription& d = layout.d;
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  const double c_elements = real(d.m * d.n) * real(d.batch_count);
  Demand demand{.tiles = real(core::ceil_divide(d.m, layout.tile.m * layout.cluster.rows)) *
                         real(core::ceil_divide(d.n, layout.tile.n * layout.cluster.columns)) *
                         real(d.batch_count * layout.split_k) * layout.cluster.size(),
                .slots = real(resident_clusters(layout, device) * layout.cluster.size()),
                .steps = std::ceil(real(layout.blocks_per_slice) / layout.cluster.k),
                .bytes = real(size_in_bytes(layout.multiplied)) * real(d.k) *
                             real(d.m * plan::distinct_matrices(d.a, d.batch_count) +
                                  d.n * plan::distinct_matrices(d.b, d.batch_count)) +
                         real(size_in_bytes(d.types.output)) * c_elements};
  demand.path = std::max(straddling(d.a, true, layout), straddling(plan::transposed(d.b), false, layout));
  demand.store = layout.split_k > 1 ? 0 : storing(d);  // the partial sums' buffer is aligned
  add_copies(demand, layout);
  if (layout.split_k > 1) {
    ++demand.side_kernels;
    demand.copied_bytes += 8 * real(layout.split_k) * c_elements;
  }
  return demand;
}

LaunchConfig make_launch_config(const GemmDescription& description, ElementType multiplied, const TileKind& kind,
                                ClusterShape cluster, int ctas_per_sm, bool is_transposed) {
  return {.d = native::reachable(is_transposed ? plan::transposed(description) : description),
          .multiplied = multiplied,
          .is_transposed = is_transposed,
          .tile = kind.tile,
          .cluster = {cluster.rows, cluster.columns, kind.division.cluster_k},
          .ctas_per_sm = ctas_per_sm,
          .slice_blocks = kind.division.slice_blocks,
          .blocks_per_slice = blocks_per_slice_of(description, multiplied, kind.division),
          .split_k = split_k_of(description, multiplied, kind.division)};
}

/// Whether K is long enough to be divided so.
bool is_long_enough(const GemmDescription& d, ElementType multiplied, Division division) {
  if (division.cluster_k > 1 && d.k * size_in_bytes(multiplied) <= (2 * division.cluster_k - 1) * row_bytes)
    return false;
  return division.slice_blocks == 0 || split_k_of(d, multiplied, division) > 1;
}

}  // namespace

LaunchConfig launch_config_of(const GemmDescription& description, ElementType multiplied, const Configuration& c) {
  const TileKind kind{{c.bm, c.bn}, {.cluster_k = c.cluster_k, .slice_blocks = c.slice_k / row_bytes}};
  return make_launch_config(description, multiplied, kind, {c.cluster_m, c.cluster_n}, c.ctas, c.swap != 0);
}

std::vector<Candidate> candidates(const GemmDescription& description, ElementType multiplied,
                                  std::span<const TileKind> kinds, const Device& device) {
  std::vector<Candidate> all;
  for (const TileKind& kind : kinds) {
    if (!is_long_enough(description, multiplied, kind.division) ||
        !why_impossible(description, multiplied, kind.division, device).empty())
      continue;
    for (const bool is_transposed : {false, true})
      for (const ClusterShape cluster : clusters_for(kind.tile, kind.division.cluster_k)) {
        // Boxes of B would not be whole swizzles.
        if (!streams_a(kind.tile) && kind.tile.n / cluster.rows % 8 != 0) continue;
        for (int ctas_per_sm = 1; ctas_per_sm <= most_ctas_per_sm(kind.tile, needs_promotion(multiplied));
             ++ctas_per_sm) {
          const LaunchConfig layout =
              make_launch_config(description, multiplied, kind, cluster, ctas_per_sm, is_transposed);
          if (!suits(layout)) break;
          const Demand demand = demand_of(layout, device);
          // The device fills an SM before the next: with fewer tiles some would have none.
          if (ctas_per_sm > 1 && demand.tiles <= (ctas_per_sm - 1) * device.sm_count) break;
          all.push_back({configuration_of(layout), demand});
        }
      }
  }
  return all;
}

}  // namespace exactile::cuda::sm90::native
