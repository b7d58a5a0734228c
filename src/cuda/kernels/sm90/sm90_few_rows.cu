// SPDX-License-Identifier: Apache-2.0
// `sm90_bf16_few_rows`, `sm90_f16_few_rows`, `sm90_i8_i32_few_rows`: at most 16 rows or columns, as fast as memory
// delivers the other operand.
// Traffic model: each operand and C once. Limit: memory; for small products the time from a load to its value.
#include "core/checked.hpp"
#include "cuda/kernels/sm90/few_rows/product.hpp"
#include "cuda/kernels/sm90/sm90_kernels.hpp"

namespace exactile::cuda {
namespace sm90::few_rows {

// Fitted to 170 divisions of five products, docs/measurements/2026-11-22-h200-narrow.md.
double seconds(const GemmDescription& d, const Division& division, const Device& device) {
  constexpr double start = 3.2e-6, latency = 0.47e-6, multiplied = 0.08e-6, joined = 0.33e-6, next_wave = 1.05e-6;
  constexpr double gathered = 9e-6;  // a stage element by element, which nothing overlaps
  constexpr int shared_bytes_of_multiprocessor = 227 * 1024;
  const auto size = static_cast<double>(size_in_bytes(d.types.input));
  const int residents = std::max(1, shared_bytes_of_multiprocessor / (shared_bytes(division, rows_of(d)) + 1024));
  // Clusters do not fill the device: 120 of 132 multiprocessors with four or eight CTAs, fewer with other numbers.
  const int cluster = division.cluster;
  const double filled = cluster <= 2 ? 1 : cluster == 4 || cluster == 8 ? 0.9 : 0.8;
  const double tiles = static_cast<double>(d.batch_count) * division.tiles;
  const double waves =
      std::ceil(tiles / std::max(1.0, std::floor(filled * residents * device.multiprocessors / cluster)));
  const double terms =
      std::min(static_cast<double>(division.parts_of_warp()) * division.part_terms, static_cast<double>(d.k));
  const double stages_of_warp = terms * size / stage_bytes;
  const double loading = are_reachable(d, nullptr, nullptr) ? latency / division.stages : gathered;
  const double waiting = waves * (stages_of_warp * (loading + multiplied) + joined * (cluster - 1));
  // Each tile reads the rows anew, from L2; but what a multiprocessor takes in is what limits. In a single wave some
  // multiprocessors have a CTA more than others.
  const double bytes =
      size * static_cast<double>(d.k) * static_cast<double>(d.n * d.batch_count + d.m * division.tiles * d.batch_count);
  const double share = tiles * cluster / device.multiprocessors;
  const double uneven = waves > 1 ? 0 : std::ceil(share) / share - 1;
  const double streaming =
      bytes / device.memory_bytes_per_second * (1 + 0.6 * uneven) + (waves - 1) * next_wave / residents;
  return start + 0.05e-6 * division.warps + 0.03e-6 * division.stages + std::max(waiting, streaming) +
         0.38 * std::min(waiting, streaming);
}

Division divide(const GemmDescription& d, const Device& device) {
  constexpr std::int64_t least_terms = 128, most_parts = 32;
  const std::int64_t step = stage_bytes / size_in_bytes(d.types.input);
  Division fixed{};
  fixed.part_terms = static_cast<int>(std::max(least_terms, core::round_up(core::ceil_divide(d.k, most_parts), step)));
  fixed.parts = static_cast<int>(core::ceil_divide(d.k, fixed.part_terms));
  fixed.tiles = static_cast<int>(core::ceil_divide(d.n, tile_lines));
  Division best = fixed;
  double least = 0;
  for (int cluster = 1; cluster <= fixed.groups(); ++cluster)
    for (int warps = 2; warps <= most_threads / 32; warps *= 2)
      for (int stages = 2; stages <= 6; ++stages) {
        Division next = fixed;
        next.cluster = cluster;
        next.warps = warps;
        next.stages = stages;
        if (shared_bytes(next, rows_of(d)) > device.shared_bytes_per_block) continue;
        if (const double time = seconds(d, next, device); least == 0 || time < least) {
          least = time;
          best = next;
        }
      }
  return best;
}

bool are_reachable(const GemmDescription& d, const void* a, const void* b) {
  const auto is_aligned = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; };
  return narrow::reach_of(d.a, d.types.input, false) == narrow::Reach::along_k &&
         narrow::reach_of(plan::transposed(d.b), d.types.input, false) != narrow::Reach::none && is_aligned(a) &&
         is_aligned(b);
}

std::string_view refuses(const plan::Problem& problem, const Device&) {
  const GemmDescription d = as_computed(problem.description);
  constexpr std::int64_t most = 1 << 30;
  if (d.m > most_rows) return "for at most 16 rows or columns";
  if (d.n > most || d.k > most || static_cast<double>(d.n) / tile_lines * 8 * static_cast<double>(d.batch_count) > most)
    return "needs sizes of at most 2^30";
  const bool along_k = d.b.row_stride == 1;
  if (!along_k && (d.types.input == ElementType::i8 || d.b.column_stride != 1))
    return d.types.input == ElementType::i8 ? "needs the larger operand contiguous along k"
                                            : "needs a contiguous larger operand";
  return {};
}

namespace {

constexpr std::string_view summary = "at most 16 rows or columns: warps stream 64 columns each through mma.sync";

template <class In, const std::string_view& name>
constexpr Kernel kernel_of(std::span<const GemmTypes> types) {
  return {.name = name,
          .role = "engine",
          .summary = summary,
          .types = types,
          .least_capability = 90,
          .most_capability = 90,
          .refuses = refuses,
          .cost =
              [](const plan::Problem& p, const Device& device) {
                const GemmDescription d = as_computed(p.description);
                return seconds(d, divide(d, device), device);
              },
          .prepare = [](const plan::Problem& p, const Device& device) -> std::unique_ptr<DeviceProduct> {
            return std::make_unique<Product<In>>(p.description, divide(as_computed(p.description), device), device,
                                                 name);
          },
          .applies_scales = true};
}

using enum ElementType;
constexpr GemmTypes bf16_types[] = {{bf16, bf16}, {bf16, f32}};
constexpr GemmTypes f16_types[] = {{f16, f16}, {f16, f32}};
constexpr GemmTypes i8_types[] = {{i8, i32}};
constexpr std::string_view bf16_name = "sm90_bf16_few_rows";
constexpr std::string_view f16_name = "sm90_f16_few_rows";
constexpr std::string_view i8_name = "sm90_i8_i32_few_rows";

}  // namespace
}  // namespace sm90::few_rows

const Kernel sm90_bf16_few_rows =
    sm90::few_rows::kernel_of<__nv_bfloat16, sm90::few_rows::bf16_name>(sm90::few_rows::bf16_types);
const Kernel sm90_f16_few_rows = sm90::few_rows::kernel_of<__half, sm90::few_rows::f16_name>(sm90::few_rows::f16_types);
const Kernel sm90_i8_i32_few_rows =
    sm90::few_rows::kernel_of<std::int8_t, sm90::few_rows::i8_name>(sm90::few_rows::i8_types);

}  // namespace exactile::cuda
