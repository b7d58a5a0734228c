// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/narrow/plan.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "cuda/kernels/sm90/narrow/estimate.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90::narrow {
namespace {

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
  // Multiprocessors hang together in groups of 16 or 18, not all of which clusters of four and more can fill.
  const int size = layout.cluster.size();
  const int usable = size <= 2 ? device.multiprocessors : device.multiprocessors * 10 / 11;
  return layout.residents * usable / size;
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

std::vector<Layout> layouts(const GemmDescription& description, ElementType multiplied, TileShape tile,
                            Division division, const Device& device) {
  const Depth depth = division.depth;
  const std::vector<ClusterShape> shapes =
      streams_a(tile)
          ? std::vector<ClusterShape>{{streaming_rows, 1, depth}}
          : std::vector<ClusterShape>{{2, 1, depth}, {1, 2, depth}, {1, 1, depth}, {4, 1, depth}, {2, 2, depth}};
  const std::int64_t chunk_blocks = chunk_blocks_of(description, multiplied, division);
  const std::int64_t chunks = chunks_of(description, multiplied, division);
  std::vector<Layout> all;
  for (const bool is_transposed : {false, true}) {
    const GemmDescription d = reachable(is_transposed ? plan::transposed(description) : description);
    for (const ClusterShape cluster : shapes) {
      if (!streams_a(tile) && cluster.rows == 4 && depth != 2)
        continue;  // without gain where K is whole, and eight CTAs are the most
      if (cluster.columns == 2 && cluster.rows == 2 && depth > 1)
        continue;  // not measured with K in two parts, and in four it would be sixteen CTAs
      if (!streams_a(tile) && tile.n / cluster.rows % 8 != 0) continue;  // boxes of B would not be whole swizzles
      for (int residents = 1; residents <= most_residents(tile, has_short_sums(multiplied)); ++residents) {
        // The device fills a multiprocessor before the next: with fewer tiles some would have none.
        if (residents > 1 &&
            clusters_of(d, tile, cluster, chunks) * cluster.size() <= (residents - 1) * device.multiprocessors)
          break;
        all.push_back({.d = d,
                       .multiplied = multiplied,
                       .is_transposed = is_transposed,
                       .tile = tile,
                       .cluster = cluster,
                       .residents = residents,
                       .chunk_blocks = chunk_blocks,
                       .chunks = chunks,
                       .seconds = 0});
        all.back().seconds = estimated_seconds(all.back(), device);
      }
    }
  }
  return all;
}

Layout choose_layout(const GemmDescription& description, ElementType multiplied, TileShape tile, Division division,
                     const Device& device) {
  const std::vector<Layout> all = layouts(description, multiplied, tile, division, device);
  return *std::min_element(all.begin(), all.end(),
                           [](const Layout& x, const Layout& y) { return x.seconds < y.seconds; });
}

}  // namespace exactile::cuda::sm90::narrow
