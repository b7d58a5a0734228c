// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/narrow/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "plan/transposed.hpp"

namespace exactile::cuda::sm90::narrow {
namespace {

double bytes_of(ElementType type) { return static_cast<double>(size_in_bytes(type)); }

double tiles_of(std::int64_t size, double tile) { return std::ceil(static_cast<double>(size) / tile); }

/// What it takes to lay operands out anew.
struct Copies {
  double seconds = 0;
  bool by_rows = false;  ///< one kernel copies all that stay rows
};

/// Adds an operand, if it must be laid out anew.
void add_copy(Copies& copies, const OperandLayout& operand, std::int64_t lines, bool is_a, const Layout& layout,
              const Device& device) {
  const GemmDescription& d = layout.d;
  const Reach reach = reach_of(operand, d.types.input, layout.is_converted());
  if (reach == Reach::along_k || (reach == Reach::along_lines && takes_along_lines(is_a, layout.tile))) return;
  const double elements = static_cast<double>(lines) * static_cast<double>(d.k) *
                          static_cast<double>(plan::distinct_matrices(operand, d.batch_count));
  const double bytes = elements * (bytes_of(d.types.input) + bytes_of(layout.multiplied));
  // Rows that stay rows move in wide words.
  const bool stays = !layout.is_converted() &&
                     (operand.column_stride == 1 || (operand.row_stride == 1 && bytes_of(d.types.input) == 2 &&
                                                     takes_along_lines(is_a, layout.tile)));
  if (!stays || !copies.by_rows) copies.seconds += 3e-6;
  copies.by_rows |= stays;
  copies.seconds += bytes / ((stays ? 0.8 : 0.3) * device.memory_bytes_per_second);
}

/// Cycles of TMA to ask for a row of a box: 1.7 for each request to L2. Rows that do not begin at whole lines of 128
/// bytes lie in two of them; those that do not begin at whole sectors of 32 take 2.3 requests.
double asking_cycles(const OperandLayout& operand, bool is_a, const Layout& layout) {
  constexpr double whole = 1.7, straddling = 2.6, straddling_sectors = 3.9;
  const std::int64_t size = size_in_bytes(layout.multiplied);
  const Reach reach = reach_of(operand, layout.d.types.input, layout.is_converted());
  if (reach == Reach::none || (reach == Reach::along_lines && !takes_along_lines(is_a, layout.tile))) return whole;
  const std::int64_t pitch = size * (reach == Reach::along_k ? operand.row_stride : operand.column_stride);
  if (pitch % 128 == 0 || pitch < 128) return whole;
  return pitch % 32 == 0 ? straddling : straddling_sectors;
}

/// Cycles a multiprocessor takes for a block of K of that many CTAs. `asked`: of TMA, for what it loads for each.
/// `waves`: tiles of a CTA.
double block_cycles(double tile_m, double tile_n, double residents, double asked, double waves, bool has_short_sums) {
  constexpr double shared_bytes_per_cycle = 120;
  // The tensor cores read B for each 64 rows, behind TMA, which writes A and B once.
  double shared_bytes = row_bytes * (tile_n * tile_m / 64 + tile_m + tile_n);
  if (has_short_sums) {  // they read A for each fragment; as measured
    shared_bytes += row_bytes * tile_m * tile_n / short_fragment(static_cast<int>(tile_n));
    return shared_bytes / shared_bytes_per_cycle + 190;
  }
  // Where TMA asks for nearly as long as the tensor cores take, they wait at times; the most while all CTAs are at the
  // same blocks, as in their first tile.
  const double near = tile_m > 128 ? 0.8 : 0.9;
  const double waits = asked > near * (2 * tile_n * tile_m / 64 + 33) ? 1.02 + 0.18 / waves : 1;
  const double products = waits * (residents * 2 * tile_n * tile_m / 64 + 33);
  const double chain = (tile_m == 64 ? 150 : 290) + 0.3 * tile_n;  // instructions that add to the same registers
  return std::max({products, residents * shared_bytes / shared_bytes_per_cycle, residents * asked, chain});
}

/// Seconds between the first load and the last store, from what a multiprocessor does in a cycle.
double tile_seconds(const Layout& layout, const Device& device) {
  const GemmDescription& d = layout.d;
  const double clusters = clusters_of(d, layout.tile, layout.cluster, layout.chunks);
  const double at_a_time = resident_clusters(layout, device);
  const int depth = layout.cluster.depth;
  const double blocks = std::ceil(static_cast<double>(layout.chunk_blocks) / depth);
  // What does not overlap with products: the sums on their way to C, longer where the next tile waits for the staging
  // memory, and at first the loads.
  const bool is_contiguous = d.c.column_stride == 1 || layout.chunks > 1 ||
                             (d.c.row_stride == 1 && d.c.column_stride % 8 == 0 && d.m % 8 == 0);
  const double column_cycles = layout.tile.m == 64 ? 1.5 : layout.tile.n == 144 ? 10 : 4;
  const double last_stored = 300 + (is_contiguous ? column_cycles : 100) * layout.tile.n;
  const double stored = is_contiguous ? 1400 + 10.0 * layout.tile.n * std::max(layout.tile.m, 128) / 128 : last_stored;
  // Sums go from CTA to CTA, at some 13 bytes a cycle.
  const double received = 4.0 * layout.tile.m * layout.tile.n * (depth - 1) / depth;
  const double joined = depth == 1 ? 0 : 400 + received / 13;
  const double waves = std::ceil(clusters / at_a_time);
  // CTAs of a cluster ask for each other's rows.
  const double asked = layout.tile.m * asking_cycles(d.a, true, layout) / layout.cluster.columns +
                       layout.tile.n * asking_cycles(plan::transposed(d.b), false, layout) / layout.cluster.rows;
  // L2 delivers rows of 128 bytes to all CTAs together.
  const double ctas = std::min(clusters, at_a_time) * layout.cluster.size();
  constexpr double l2_rows_per_cycle = 70;
  const double from_l2 = ctas / l2_rows_per_cycle *
                         (static_cast<double>(layout.tile.m) / layout.cluster.columns +
                          static_cast<double>(layout.tile.n) / layout.cluster.rows);
  const double products = blocks * std::max(from_l2, block_cycles(layout.tile.m, layout.tile.n, layout.residents, asked,
                                                                  waves, has_short_sums(layout.multiplied))) +
                          joined;
  const double cycles = waves * products + (waves - 1) * stored + last_stored + 1250;
  // Of the clock, under load; a third of the device slows it down less.
  const double sustained = 3 * clusters * layout.cluster.size() <= device.multiprocessors ? 0.9 : 0.87;
  return cycles / (sustained * device.clock_hertz);
}

/// Seconds of tiles that wait for A from memory: with one loading thread each, or as fast as memory is for all.
double streamed_seconds(const Layout& layout, const Device& device) {
  const GemmDescription& d = layout.d;
  constexpr double start = 2.15e-6, tile_itself = 0.35e-6, bytes_of_thread = 41.8e9;
  const std::int64_t terms = d.k / layout.chunks;
  const double tile_bytes = bytes_of(layout.multiplied) * static_cast<double>(terms) * layout.tile.m;
  const double clusters = clusters_of(d, layout.tile, layout.cluster, layout.chunks);
  const double waves = std::ceil(clusters / resident_clusters(layout, device));
  const double all_bytes = clusters * layout.cluster.rows * tile_bytes;
  // Of more lines than a tile has, each tile reads A again, which nobody has kept.
  constexpr double not_for_that = 4;
  const double again = d.n > layout.tile.n ? not_for_that : 1;
  return again * (start + std::max(waves * (tile_bytes / bytes_of_thread + tile_itself),
                                   all_bytes / (0.9 * device.memory_bytes_per_second)));
}

/// What is read from memory while all have something to read, of what could be: by the times, two multiprocessors share
/// a way to memory, and those pairs that have a tile more than others read on alone. It counts where few lines meet
/// more than L2 keeps; parts of K and more tiles even out. Measured for 16-bit types.
double evenness(const Layout& layout, double read, double readers, const Device& device) {
  constexpr std::int64_t few_lines = 64;
  const bool waits_for_memory = bytes_of(layout.multiplied) == 2 && std::min(layout.d.m, layout.d.n) <= few_lines &&
                                2 * read >= static_cast<double>(device.l2_bytes);
  const double tiles_of_pair = 2 * readers / device.multiprocessors;
  if (!waits_for_memory || layout.chunks > 1 || layout.cluster.depth > 1 || tiles_of_pair > 3) return 1;
  return tiles_of_pair / std::ceil(tiles_of_pair);
}

/// Seconds of tiles that the tensor cores, shared memory or all of memory's bandwidth limit.
double computed_seconds(const Layout& layout, const Device& device) {
  const GemmDescription& d = layout.d;
  const double arithmetic = tile_seconds(layout, device);
  const double read = bytes_of(layout.multiplied) * static_cast<double>(d.k) *
                      static_cast<double>(d.m * plan::distinct_matrices(d.a, d.batch_count) +
                                          d.n * plan::distinct_matrices(d.b, d.batch_count));
  const double written = bytes_of(d.types.output) * static_cast<double>(d.m * d.n * d.batch_count);
  const double ctas =
      clusters_of(d, layout.tile, layout.cluster, layout.chunks) * static_cast<double>(layout.cluster.size());
  // Of a cluster's tiles some may lie beyond C.
  const double readers = clusters_of(d, layout.tile, {}, layout.chunks) * layout.cluster.depth;
  constexpr double bytes_of_one = 130e9;  // what a multiprocessor reads in a second from memory or L2
  const double memory =
      (read + written) / std::min(0.8 * evenness(layout, read, readers, device) * device.memory_bytes_per_second,
                                  bytes_of_one * std::min(readers, static_cast<double>(device.multiprocessors)));
  // They overlap, but not wholly. Clusters save energy, and with it clock, those that share B the most, or A of the
  // tiles that are nearly square or small; but CTAs of a cluster are neighbours, and few of them then share ways to
  // memory that single ones would have for themselves.
  const bool is_sparse = 2 * ctas <= device.multiprocessors;
  const bool shares_a = layout.tile.m > 128 || layout.tile.n == 160 || layout.tile.m + layout.tile.n == 192;
  const bool shares_most = (shares_a ? layout.cluster.columns : layout.cluster.rows) == 2;
  double energy = layout.cluster.layer() == 1 ? (is_sparse ? 0.92 : 1.015) : shares_most ? 1 : 1.01;
  // They ask for the least, where nothing else tells them apart.
  if (layout.cluster.layer() == 4 && layout.chunks == 1) energy *= 0.998;
  if (layout.cluster.depth > 1 && !is_sparse) energy *= 1.02;  // sums from CTA to CTA
  // Large clusters lie evenly over a device that they do not fill, as seen where K is in parts.
  const bool is_thin = layout.tile.m == 64 && layout.cluster.depth == 4;
  const bool is_spread = layout.cluster.depth > 1 && !is_thin && !is_sparse && 4 * ctas <= 3 * device.multiprocessors;
  if (is_spread && layout.cluster.size() >= 4) energy *= layout.cluster.size() >= 8 ? 0.88 : 0.94;
  // Of more lines than a tile has, those side by side should share A.
  if (is_thin && d.n > layout.tile.n && layout.cluster.columns == 1) energy *= 1.2;
  // With parts a CTA has one tile: it loads nothing ahead for a second wave.
  if (layout.tile == TileShape{128, 96} && ctas > device.multiprocessors) energy *= 1.4;
  // More bytes through shared memory for a product, which counts where the board's power limits.
  if (layout.tile.n < 256 && ctas >= 4.0 * device.multiprocessors) energy *= 1.05;
  // They begin together, and each waits for what its peers load.
  const double meeting = layout.cluster.layer() == 1 ? 0 : 0.3e-6;
  // The next kernel of that kind finds room before this one has ended.
  const double launched = is_sparse ? 1.75e-6 : 2e-6;
  const double seconds =
      launched + meeting + energy * (std::max(arithmetic, memory) + 0.25 * std::min(arithmetic, memory));
  // TMA takes as long for rows beyond C as for others: 16x6144x4096 took 27 us by such tiles, 21 by few_rows.
  const bool is_narrow =
      layout.tile.m == 64 || (layout.tile.n == 64 && layout.chunks == 1 && bytes_of(layout.multiplied) == 2);
  const bool is_mostly_beyond = 2 * d.m <= layout.tile.m || (is_narrow && 2 * d.n <= layout.tile.n) ||
                                (layout.tile.n == 96 && 3 * d.n <= 2 * layout.tile.n);
  return is_mostly_beyond ? 1.25 * seconds : seconds;
}

}  // namespace

double clusters_of(const GemmDescription& d, TileShape tile, ClusterShape cluster, std::int64_t chunks) {
  return tiles_of(d.m, tile.m * cluster.rows) * tiles_of(d.n, tile.n * cluster.columns) *
         static_cast<double>(d.batch_count * chunks);
}

double estimated_seconds(const Layout& layout, const Device& device) {
  const GemmDescription& d = layout.d;
  double seconds = streams_a(layout.tile) ? streamed_seconds(layout, device) : computed_seconds(layout, device);
  Copies copies;
  add_copy(copies, d.a, d.m, true, layout, device);
  add_copy(copies, plan::transposed(d.b), d.n, false, layout, device);
  seconds += copies.seconds;
  if (layout.chunks > 1)
    seconds += 3e-6 + 8.0 * static_cast<double>(layout.chunks * d.batch_count * d.m * d.n) /
                          (0.8 * device.memory_bytes_per_second);
  return seconds;
}

}  // namespace exactile::cuda::sm90::narrow
