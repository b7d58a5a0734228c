// SPDX-License-Identifier: Apache-2.0
// `sm90_few_rows`: bf16, f16 and i8 with at most 16 rows or columns, as fast as memory delivers the other operand.
// Traffic model: each operand and C once. Limit: memory; for small products the time from a load to its value.
#include "core/checked.hpp"
#include "cuda/kernels/sm90/few_rows/product.hpp"
#include "cuda/kernels/sm90/sm90_kernels.hpp"

namespace exactile::cuda {
namespace sm90::few_rows {

namespace {

Division fixed_division(const GemmDescription& d) {
  constexpr std::int64_t least_k_per_slice = 128, most_k_slices = 32;
  const std::int64_t step = stage_bytes / size_in_bytes(d.types.input);
  Division fixed{};
  fixed.k_per_slice =
      static_cast<int>(std::max(least_k_per_slice, core::round_up(core::ceil_divide(d.k, most_k_slices), step)));
  fixed.k_slices = static_cast<int>(core::ceil_divide(d.k, fixed.k_per_slice));
  fixed.tiles = static_cast<int>(core::ceil_divide(d.n, tile_n));
  return fixed;
}

Candidate candidate(const GemmDescription& d, const Division& division, const Device& device) {
  constexpr int shared_bytes_of_sm = 227 * 1024;
  const auto size = static_cast<double>(size_in_bytes(d.types.input));
  const int ctas_per_sm = std::max(1, shared_bytes_of_sm / (shared_bytes(division, rows_of(d)) + 1024));
  const auto clusters =
      std::floor(static_cast<double>(ctas_per_sm * sms_filled(device, division.cluster)) / division.cluster);
  const auto batch = static_cast<double>(d.batch_count);
  const double k_of_warp =
      std::min(static_cast<double>(division.slices_of_warp()) * division.k_per_slice, static_cast<double>(d.k));
  return {{.bm = rows_of(d),
           .bn = tile_n,
           .cluster_k = division.cluster,
           .warps = division.warps,
           .stages = division.stages},
          {.tiles = batch * division.tiles * division.cluster,
           .slots = std::max(1.0, clusters) * division.cluster,
           .steps = std::ceil(k_of_warp * size / stage_bytes),
           // Each tile reads the rows anew.
           .bytes = size * static_cast<double>(d.k) * batch *
                    (static_cast<double>(d.n) + static_cast<double>(d.m) * division.tiles),
           .path = are_reachable(d, nullptr, nullptr) ? 0 : 2}};
}

}  // namespace

Division division_of(const GemmDescription& d, const Configuration& configuration) {
  Division division = fixed_division(d);
  division.cluster = configuration.cluster_k;
  division.warps = configuration.warps;
  division.stages = configuration.stages;
  return division;
}

std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = as_computed(problem.description);
  Division division = fixed_division(d);
  std::vector<Candidate> all;
  for (division.cluster = 1; division.cluster <= std::min(division.groups(), most_cluster); division.cluster *= 2)
    for (division.warps = 2; division.warps <= most_threads / 32; division.warps *= 2)
      for (division.stages = 2; division.stages <= 6; division.stages += 2)
        if (shared_bytes(division, rows_of(d)) <= device.shared_bytes_per_block)
          all.push_back(candidate(d, division, device));
  return all;
}

bool are_reachable(const GemmDescription& d, const void* a, const void* b) {
  const auto is_aligned = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; };
  return native::operand_major_of(d.a, d.types.input, false) == native::OperandMajor::k &&
         native::operand_major_of(plan::transposed(d.b), d.types.input, false) != native::OperandMajor::none &&
         is_aligned(a) && is_aligned(b);
}

std::string_view refuses(const plan::Problem& problem, const Device&) {
  const GemmDescription d = as_computed(problem.description);
  constexpr std::int64_t most = 1 << 30;
  if (d.m > most_rows) return "for at most 16 rows or columns";
  if (d.n > most || d.k > most || static_cast<double>(d.n) / tile_n * 8 * static_cast<double>(d.batch_count) > most)
    return "needs sizes of at most 2^30";
  const bool k_major = d.b.row_stride == 1;
  if (!k_major && (d.types.input == ElementType::i8 || d.b.column_stride != 1))
    return d.types.input == ElementType::i8 ? "needs the larger operand contiguous along k"
                                            : "needs a contiguous larger operand";
  return {};
}

namespace {

using enum ElementType;
constexpr GemmTypes types[] = {{bf16, bf16}, {bf16, f32}, {f16, f16}, {f16, f32}, {i8, i32}};

std::unique_ptr<DeviceProduct> make(const plan::Problem& p, const Device& device, const Configuration& c) {
  const Division division = division_of(as_computed(p.description), c);
  switch (p.description.types.input) {
    case bf16: return std::make_unique<Product<__nv_bfloat16>>(p.description, division, device);
    case f16: return std::make_unique<Product<__half>>(p.description, division, device);
    default: return std::make_unique<Product<std::int8_t>>(p.description, division, device);
  }
}

}  // namespace
}  // namespace sm90::few_rows

const Kernel sm90_few_rows{.name = sm90::few_rows::name,
                           .role = "engine",
                           .summary = "at most 16 rows or columns: warps stream 64 columns each through mma.sync",
                           .types = sm90::few_rows::types,
                           .least_capability = 90,
                           .most_capability = 90,
                           .refuses = sm90::few_rows::refuses,
                           .candidates = sm90::few_rows::candidates,
                           .make = sm90::few_rows::make,
                           .applies_scales = true};

}  // namespace exactile::cuda
