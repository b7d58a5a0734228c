// SPDX-License-Identifier: Apache-2.0
// `sm80_f32_bf16x6_mma`: f32 products as six products of bf16 slices through mma.sync, for all GPUs from compute
// capability 8.0 on. Elements are split in registers, so that nothing is written but C, and need no scales: bf16 has
// f32's exponents. Rows and columns for which slices cannot keep the promise are summed again in f32. From sm_90 on the
// CTAs of a cluster share K.
//
// Traffic model: a block reads its rows of A and columns of B for each tile of C; L2 serves most.
// Limit: see docs/design/sm80_mma.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/checked.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm80/f32_product.cuh"
#include "cuda/runtime/clusters.hpp"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/tiles.hpp"
#include "plan/column_major.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace sm80 {
namespace {

using namespace f32;

constexpr std::string_view f32_name = "sm80_f32_bf16x6_mma";
constexpr std::array f32_types{GemmTypes{ElementType::f32, ElementType::f32}};

/// Whether the rows or columns of an operand are contiguous and begin at multiples of 16 bytes, if its first does.
[[nodiscard]] bool loads_by_fours(const OperandLayout& layout) {
  const auto [less, more] = std::minmax({std::abs(layout.row_stride), std::abs(layout.column_stride)});
  return less == 1 && more % 4 == 0;
}

using F32Kernel = void (*)(F32Work);

[[nodiscard]] F32Kernel kernel_for(bool a_k_major, bool b_k_major) {
  if (a_k_major) return b_k_major ? f32_mma_kernel<true, true> : f32_mma_kernel<true, false>;
  return b_k_major ? f32_mma_kernel<false, true> : f32_mma_kernel<false, false>;
}

/// CTAs of a product that has `ranks` of them for a tile.
[[nodiscard]] std::int64_t cta_count(const GemmDescription& d, int ranks) {
  return tile_count(d, tile, tile) * d.batch_count * ranks;
}

class F32Product final : public DeviceProduct {
 public:
  F32Product(const GemmDescription& d, const Configuration& c, const Device& device)
      : is_transposed_(plan::is_column_major(d)),
        d_(is_transposed_ ? plan::transposed(d) : d),
        c_(c),
        device_(device) {}

  [[nodiscard]] std::string blocking() const override {
    return to_string(c_) + " BK=" + std::to_string(panel_k) + " KC=" + std::to_string(chunk_k);
  }
  [[nodiscard]] double model_bytes() const override {
    return tiled_bytes(d_, tile, tile) + 4.0 * static_cast<double>(d_.m * d_.n * d_.batch_count);
  }
  [[nodiscard]] std::vector<Path> paths() const override {
    return {{"bf16x6", "parts of tiles", "all of C"},
            {"plain", "parts of tiles",
             "those with sums that are not finite, or with elements below 2^-100, or below 2^-50 where a sum is below "
             "2^-90: slices or products of those might be lost, so that their rows and columns are summed in f32"}};
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    const auto is_k_major = [](std::int64_t k_stride, std::int64_t other) {
      return std::abs(k_stride) <= std::abs(other);
    };
    const int ranks = c_.cluster_k;
    const std::int64_t panels = core::ceil_divide(d_.k, std::int64_t{panel_k});
    const F32Work work{
        .product = {.d = d_,
                    .division = {.row_tiles = static_cast<std::uint32_t>(core::ceil_divide(d_.m, std::int64_t{tile})),
                                 .column_tiles =
                                     static_cast<std::uint32_t>(core::ceil_divide(d_.n, std::int64_t{tile}))},
                    .a = static_cast<const float*>(arguments.a),
                    .b = static_cast<const float*>(arguments.b),
                    .c = static_cast<float*>(arguments.c),
                    .sums = nullptr,
                    .epilogue = Epilogue<float, float>(d_, arguments)},
        .ranks = ranks,
        .panels_of_rank = static_cast<int>(core::ceil_divide(panels, std::int64_t{ranks})),
        .parts = launch.path_counts};
    const F32Kernel kernel =
        kernel_for(is_k_major(d_.a.column_stride, d_.a.row_stride), is_k_major(d_.b.row_stride, d_.b.column_stride));
    if (Status s = allow_shared_memory(kernel, static_cast<int>(device_.shared_bytes_per_block), f32_name); !s.ok())
      return s;
    const auto ctas = static_cast<unsigned>(cta_count(d_, ranks));
    const std::size_t shared_bytes = shared_bytes_for(ctas);
    return check(launch_clusters(device_.compute_capability >= 90, ranks, kernel, ctas, threads, shared_bytes,
                                 launch.stream, work),
                 "launch", f32_name);
  }

 private:
  /// So many that few CTAs are spread over all SMs.
  [[nodiscard]] std::size_t shared_bytes_for(std::int64_t ctas) const {
    const std::int64_t of_sm = core::ceil_divide(ctas, std::int64_t{sms_filled(device_, c_.cluster_k)});
    const std::int64_t spread = of_sm < most_ctas ? device_.shared_bytes_per_block / (of_sm + 1) + 1 : 0;
    return std::max(sizeof(F32Space), static_cast<std::size_t>(spread));
  }

  bool is_transposed_;
  GemmDescription d_;
  Configuration c_;
  Device device_;
};

std::string_view f32_refuses(const plan::Problem& problem, const Device& device) {
  const GemmDescription& d = problem.description;
  if (d.k < 64) return "needs k >= 64 to keep the bound";
  if (d.k > 1 << 20) return "needs k <= 2^20 to keep the bound";
  constexpr std::int64_t most = 1 << 30;
  if (d.m > most || d.n > most) return "needs m and n to be at most 2^30";
  const double tiles = std::ceil(static_cast<double>(d.m) / tile) * std::ceil(static_cast<double>(d.n) / tile);
  if (most_portable_cluster * tiles * static_cast<double>(d.batch_count) > 0x7fffffff)
    return "C has more tiles than one grid has blocks";
  // See docs/accuracy-proofs.md: how mma.sync sums is known from experiments with these.
  const bool is_known = device.compute_capability == 80 || device.compute_capability == 90;
  if (problem.accuracy == Accuracy::reduced || (problem.accuracy == Accuracy::standard && is_known)) return "";
  return problem.accuracy == Accuracy::standard
             ? "how this device's mma.sync sums is not known: for accuracy reduced only"
             : "keeps the bound of the plain loop only";
}

/// CTAs that share an SM hide latency from one another but for the first. So of each round of them but the first round,
/// whose head is the formula's, one counts as two.
double tiles_of(std::int64_t ctas, int sms) {
  const std::int64_t waves = core::ceil_divide(ctas, std::int64_t{sms});
  return static_cast<double>(sms * (waves + core::ceil_divide(waves, std::int64_t{most_ctas}) - 1));
}

std::vector<Candidate> f32_candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription& whole = problem.description;
  const GemmDescription d = plan::is_column_major(whole) ? plan::transposed(whole) : whole;
  const std::int64_t panels = core::ceil_divide(d.k, std::int64_t{panel_k});
  const bool has_clusters = device.compute_capability >= 90 && waits_for_kernel_before;
  std::vector<Candidate> all;
  for (int ranks = 1; ranks <= (has_clusters ? most_portable_cluster : 1); ranks *= 2) {
    if (ranks > 1 && 2 * ranks > panels) break;
    const int sms = sms_filled(device, ranks);
    all.push_back({{.bm = tile, .bn = tile, .cluster_k = ranks},
                   {.tiles = tiles_of(cta_count(d, ranks), sms),
                    .slots = static_cast<double>(sms),
                    .steps = static_cast<double>(core::ceil_divide(panels, std::int64_t{ranks})),
                    .bytes = even_demand(d, device).bytes,
                    .path = (loads_by_fours(d.a) ? 0 : 1) + (loads_by_fours(d.b) ? 0 : 1)}});
  }
  return all;
}

}  // namespace
}  // namespace sm80

const Kernel sm80_f32_bf16x6_mma{
    .name = sm80::f32_name,
    .role = "engine",
    .summary = "f32 as three bf16 slices, split in registers; six products through mma.sync; clusters share K",
    .types = sm80::f32_types,
    .least_capability = 80,
    .refuses = sm80::f32_refuses,
    .candidates = sm80::f32_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<sm80::F32Product>(p.description, c, device);
    },
    .has_instances = true};

}  // namespace exactile::cuda
