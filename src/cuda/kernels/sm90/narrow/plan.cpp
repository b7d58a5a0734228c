// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/narrow/plan.hpp"

#include <algorithm>
#include <cmath>

#include "plan/transposed.hpp"

namespace exactile::cuda::sm90::narrow {
namespace {

double bytes_of(ElementType type) { return static_cast<double>(size_in_bytes(type)); }

/// Seconds to lay an operand out anew, if it must be.
double copy_seconds(const OperandLayout& layout, std::int64_t lines, bool is_a, int tile_n, const GemmDescription& d,
                    const Device& device) {
  const bool is_converted = multiplied_type(d.types.input) != d.types.input;
  const Reach reach = reach_of(layout, d.types.input, is_converted);
  if (reach == Reach::along_k || (reach == Reach::along_lines && takes_along_lines(is_a, tile_n))) return 0;
  const double elements = static_cast<double>(lines) * static_cast<double>(d.k) *
                          static_cast<double>(plan::distinct_matrices(layout, d.batch_count));
  const double bytes = elements * (bytes_of(d.types.input) + bytes_of(multiplied_type(d.types.input)));
  // Rows that stay rows move in wide words.
  const bool stays =
      !is_converted && (layout.column_stride == 1 ||
                        (layout.row_stride == 1 && bytes_of(d.types.input) == 2 && takes_along_lines(is_a, tile_n)));
  return 3e-6 + bytes / ((stays ? 0.7 : 0.3) * device.memory_bytes_per_second);
}

Layout lay_out(const GemmDescription& d, bool is_transposed, int tile_n, const Device& device) {
  Layout layout{.d = d, .is_transposed = is_transposed, .tile_n = tile_n, .chunks = chunks_of(d.k), .seconds = 0};
  const double element = bytes_of(multiplied_type(d.types.input));
  // A step of 128 bytes of K takes twice tile_n cycles for each 64 rows, and never less than its loads from L2.
  const double steps = std::ceil(static_cast<double>(std::min(d.k, layout.chunks > 1 ? chunk_k : d.k)) * element / 128);
  constexpr double row_bytes = 128, load_bytes_per_cycle = 48;
  const double loaded = row_bytes * (tile_rows + static_cast<double>(tile_n) / layout.cluster());
  const double cycles_per_step = std::max(2.0 * tile_n * tile_rows / 64, loaded / load_bytes_per_cycle);
  const double tiles = std::ceil(static_cast<double>(d.m) / (tile_rows * layout.cluster())) * layout.cluster() *
                       std::ceil(static_cast<double>(d.n) / tile_n) *
                       static_cast<double>(d.batch_count * layout.chunks);
  const double waves = std::ceil(tiles / device.multiprocessors);
  const double tile_cycles = steps * cycles_per_step + 1500 + 6.0 * tile_n;
  constexpr double sustained = 0.85;  // of the clock, under load
  const double arithmetic = waves * tile_cycles / (sustained * device.clock_hertz);
  const double read = element * static_cast<double>(d.k) *
                      static_cast<double>(d.m * plan::distinct_matrices(d.a, d.batch_count) +
                                          d.n * plan::distinct_matrices(d.b, d.batch_count));
  const double written = bytes_of(d.types.output) * static_cast<double>(d.m * d.n * d.batch_count);
  const double memory = (read + written) / (0.85 * device.memory_bytes_per_second);
  // They overlap, but not wholly.
  layout.seconds = 4e-6 + std::max(arithmetic, memory) + 0.15 * std::min(arithmetic, memory);
  layout.seconds += copy_seconds(d.a, d.m, true, tile_n, d, device);
  layout.seconds += copy_seconds(plan::transposed(d.b), d.n, false, tile_n, d, device);
  // Elements that no TMA stores: some 20 cycles for 32 of them, after the tile's products.
  const bool stores_by_tma = d.c.column_stride == 1 && d.c.row_stride * size_in_bytes(d.types.output) % 16 == 0 &&
                             tile_n * size_in_bytes(d.types.output) >= 128 && d.bias == Bias::none &&
                             d.activation == Activation::none;
  if (!stores_by_tma) layout.seconds += waves * tile_rows * tile_n / 8 * 1.2 / (sustained * device.clock_hertz);
  if (layout.chunks > 1)
    layout.seconds += 3e-6 + 8.0 * static_cast<double>(layout.chunks * d.batch_count * d.m * d.n) /
                                 (0.8 * device.memory_bytes_per_second);
  return layout;
}

}  // namespace

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

Layout choose_layout(const GemmDescription& description, int tile_n, const Device& device) {
  const Layout straight = lay_out(description, false, tile_n, device);
  const Layout turned = lay_out(plan::transposed(description), true, tile_n, device);
  return turned.seconds < straight.seconds ? turned : straight;
}

}  // namespace exactile::cuda::sm90::narrow
