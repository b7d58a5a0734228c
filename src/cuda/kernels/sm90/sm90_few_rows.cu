// SPDX-License-Identifier: Apache-2.0
// `sm90_bf16_few_rows`, `sm90_f16_few_rows`, `sm90_i8_i32_few_rows`: at most 16 rows or columns, as fast as memory
// delivers the other operand.
// Traffic model: each operand and C once. Limit: memory; for small products the time from a load to its value.
#include "core/checked.hpp"
#include "cuda/kernels/sm90/few_rows/product.hpp"
#include "cuda/kernels/sm90/sm90_kernels.hpp"

namespace exactile::cuda {
namespace sm90::few_rows {

double seconds(const GemmDescription& d, const Division& division, const Device& device) {
  constexpr double start = 2e-6, latency = 1.4e-6;
  constexpr int shared_bytes_of_multiprocessor = 227 * 1024;
  const int residents = std::max(1, shared_bytes_of_multiprocessor / (shared_bytes(division, rows_of(d)) + 1024));
  // Clusters do not fill the device: 120 of 132 multiprocessors with four or eight CTAs, fewer with other numbers.
  const int size = division.cluster;
  const double filled = size <= 2 ? 1 : size == 4 || size == 8 ? 0.9 : 0.8;
  const double waves = std::ceil(static_cast<double>(d.batch_count) * division.tiles /
                                 std::max(1.0, std::floor(filled * residents * device.multiprocessors / size)));
  const double stages_of_warp = static_cast<double>(division.parts_of_warp()) * division.part_terms *
                                static_cast<double>(size_in_bytes(d.types.input)) / stage_bytes;
  const double waiting = waves * (stages_of_warp / division.stages + 1) * latency;
  const double bytes = static_cast<double>(size_in_bytes(d.types.input)) * static_cast<double>(d.batch_count) *
                       static_cast<double>(d.k) * static_cast<double>(d.n + d.m);
  const double streaming = bytes / (0.75 * device.memory_bytes_per_second) + (waves - 1) * latency;
  return start + 0.05e-6 * size + 0.1e-6 * division.warps + 0.3e-6 * division.stages + std::max(waiting, streaming) +
         0.2 * std::min(waiting, streaming);
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
      for (int stages = 2; stages <= 4; ++stages) {
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

bool is_reachable(const OperandLayout& layout, std::int64_t fast, std::int64_t slow, ElementType type,
                  const void* data) {
  const std::int64_t units = 16 / size_in_bytes(type);
  const auto fits = [&](std::int64_t stride) { return stride > 0 && stride % units == 0 && stride < (1LL << 38); };
  return fast == 1 && fits(slow) && (layout.batch_stride == 0 || fits(layout.batch_stride)) && !layout.pointer_array &&
         reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
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
