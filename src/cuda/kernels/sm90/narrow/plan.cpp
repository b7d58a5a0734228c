// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/narrow/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace exactile::cuda::sm90::narrow {
namespace {

constexpr int tile_rows = 128;

/// C^T = B^T A^T
GemmDescription other_way_round(const GemmDescription& description) {
  GemmDescription d = description;
  std::swap(d.m, d.n);
  d.a = transposed(description.b);
  d.b = transposed(description.a);
  d.c = transposed(description.c);
  if (d.bias != Bias::none) d.bias = d.bias == Bias::per_row ? Bias::per_column : Bias::per_row;
  return d;
}

double bytes_of(ElementType type) { return static_cast<double>(size_in_bytes(type)); }

/// Whether a kernel of that width reads the operand as it lies: wide tiles take A along K and B either way, narrow ones
/// A either way and B along K.
bool is_direct(Reach reach, bool is_a, int tile_n) {
  if (reach == Reach::none) return false;
  return reach == Reach::along_k || is_a == (tile_n < 128);
}

double copy_seconds(const OperandLayout& layout, std::int64_t lines, const GemmDescription& d, const Device& device) {
  const double elements = static_cast<double>(lines * d.k * distinct(layout, d.batch_count));
  const double bytes = elements * (bytes_of(d.types.input) + bytes_of(multiplied_type(d.types.input)));
  constexpr double fraction = 0.5;  // of the memory's rate
  return 3e-6 + bytes / (fraction * device.memory_bytes_per_second);
}

Layout lay_out(const GemmDescription& d, bool is_transposed, int tile_n, const Device& device) {
  Layout layout{.d = d, .is_transposed = is_transposed, .tile_n = tile_n, .chunks = chunks_of(d.k), .seconds = 0};
  const double element = bytes_of(multiplied_type(d.types.input));
  // A step of 128 bytes of K takes a quarter of tile_n cycles for each 64 rows, and never less than its loads.
  const double steps = std::ceil(static_cast<double>(std::min(d.k, layout.chunks > 1 ? chunk_k : d.k)) * element / 128);
  const double cycles_per_step = std::max(4.0 * tile_n, 300.0);
  const double tiles = std::ceil(static_cast<double>(d.m) / (tile_rows * layout.cluster())) * layout.cluster() *
                       std::ceil(static_cast<double>(d.n) / tile_n) *
                       static_cast<double>(d.batch_count * layout.chunks);
  const double waves = std::ceil(tiles / device.multiprocessors);
  const double tile_cycles = steps * cycles_per_step + 1500 + 6.0 * tile_n;
  constexpr double sustained = 0.85;  // of the clock, under load
  const double arithmetic = waves * tile_cycles / (sustained * device.clock_hertz);
  const double read = element * static_cast<double>(d.k) *
                      static_cast<double>(d.m * distinct(d.a, d.batch_count) + d.n * distinct(d.b, d.batch_count));
  const double written = bytes_of(d.types.output) * static_cast<double>(d.m * d.n * d.batch_count);
  layout.seconds = 4e-6 + std::max(arithmetic, (read + written) / (0.85 * device.memory_bytes_per_second));
  const bool is_converted = multiplied_type(d.types.input) != d.types.input;
  if (!is_direct(reach_of(d.a, d.types.input, is_converted), true, tile_n))
    layout.seconds += copy_seconds(d.a, d.m, d, device);
  if (!is_direct(reach_of(transposed(d.b), d.types.input, is_converted), false, tile_n))
    layout.seconds += copy_seconds(d.b, d.n, d, device);
  if (d.c.column_stride != 1) layout.seconds += written / device.memory_bytes_per_second;
  if (layout.chunks > 1)
    layout.seconds += 3e-6 + 8.0 * static_cast<double>(layout.chunks * d.batch_count * d.m * d.n) /
                                 (0.8 * device.memory_bytes_per_second);
  return layout;
}

}  // namespace

OperandLayout transposed(OperandLayout layout) {
  std::swap(layout.row_stride, layout.column_stride);
  return layout;
}

std::int64_t distinct(const OperandLayout& layout, std::int64_t batch_count) {
  return layout.pointer_array || layout.batch_stride != 0 ? batch_count : 1;
}

ElementType multiplied_type(ElementType type) {
  return type == ElementType::f8e4m3 || type == ElementType::f8e5m2 ? ElementType::f16 : type;
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

Layout choose_layout(const GemmDescription& description, const Device& device) {
  Layout best{};
  for (const bool is_transposed : {false, true}) {
    const GemmDescription d = is_transposed ? other_way_round(description) : description;
    for (const int tile_n : {256, 128, 64, 16}) {
      const Layout layout = lay_out(d, is_transposed, tile_n, device);
      if (best.tile_n == 0 || layout.seconds < best.seconds) best = layout;
    }
  }
  return best;
}

}  // namespace exactile::cuda::sm90::narrow
