// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/dmma/product.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/dmma/reduce.cuh"
#include "plan/transposed.hpp"

namespace exactile::cuda::dmma {
namespace {

constexpr std::int64_t most_work_tiles = 0x7fffffff;

std::int64_t magnitude(std::int64_t stride) { return stride < 0 ? -stride : stride; }

/// How many operands lie as a stage does not: A with its rows contiguous, B with its columns.
int misfits(const GemmDescription& d) {
  return (magnitude(d.a.row_stride) > magnitude(d.a.column_stride)) +
         (magnitude(d.b.row_stride) > magnitude(d.b.column_stride));
}

Tiling tiling_of(const GemmDescription& d, const TileKind& tile, std::int64_t split_k, bool transposed) {
  Tiling c{.description = d,
           .transposed = transposed,
           .tile = &tile,
           .tiles_m = core::ceil_divide(d.m, tile.bm),
           .tiles_n = core::ceil_divide(d.n, tile.bn),
           .chunks = core::ceil_divide(d.k, chunk_k)};
  c.split_k = core::ceil_divide(c.chunks, core::ceil_divide(c.chunks, std::min(split_k, c.chunks)));  // no empty one
  return c;
}

Candidate candidate(const Tiling& c, const Device& device) {
  const GemmDescription& d = c.description;
  const auto batch = static_cast<double>(d.batch_count);
  const double elements = static_cast<double>(d.m * d.n) * batch;
  const auto k = static_cast<double>(std::min(d.k, core::ceil_divide(c.chunks, c.split_k) * chunk_k));
  Demand demand{.tiles = static_cast<double>(c.tiles_m * c.tiles_n * c.split_k) * batch,
                .slots = static_cast<double>(device.sm_count) * c.tile->ctas,
                .steps = std::ceil(k / block_k),
                .bytes = 8 * (static_cast<double>(d.m + d.n) * static_cast<double>(d.k) * batch + elements),
                .path = misfits(d)};
  if (c.split_k > 1) {
    demand.side_kernels = 1;
    demand.copied_bytes = 16 * elements * static_cast<double>(c.chunks);
  }
  return {{.bm = c.tile->bm, .bn = c.tile->bn, .split_k = static_cast<int>(c.split_k), .swap = c.transposed ? 1 : 0},
          demand};
}

}  // namespace

std::string_view why_refused(const GemmDescription& d) {
  // No tile has fewer than 16 rows or columns; one chunk a slice is the finest cut of K.
  const std::int64_t tiles = core::ceil_divide(d.m, 16) * core::ceil_divide(d.n, 16);
  if (tiles > most_work_tiles || core::ceil_divide(d.k, chunk_k) > most_work_tiles / tiles / d.batch_count)
    return "more work tiles than 32 bits count";
  return "";
}

Tiling tiling_of(const GemmDescription& description, std::span<const TileKind> kinds,
                 const Configuration& configuration) {
  const auto fits = [&](const TileKind& tile) { return tile.bm == configuration.bm && tile.bn == configuration.bn; };
  const bool transposed = configuration.swap != 0;
  return tiling_of(transposed ? plan::transposed(description) : description, *std::ranges::find_if(kinds, fits),
                   configuration.split_k, transposed);
}

std::vector<Candidate> candidates(const GemmDescription& description, const Device& device,
                                  std::span<const TileKind> kinds) {
  std::vector<Candidate> all;
  for (const bool transposed : {false, true}) {
    const GemmDescription d = transposed ? plan::transposed(description) : description;
    const std::int64_t chunks = core::ceil_divide(d.k, chunk_k);
    const double sums = 8 * static_cast<double>(d.batch_count) * static_cast<double>(chunks) *
                        static_cast<double>(d.m) * static_cast<double>(d.n);  // bytes, where K is split
    const bool may_split = sums <= 0.4 * static_cast<double>(device.memory_bytes);
    for (const TileKind& tile : kinds)
      for (std::int64_t split_k = 1; split_k < (may_split ? 2 * chunks : 2); split_k *= 2)
        all.push_back(candidate(tiling_of(d, tile, split_k, transposed), device));
  }
  return all;
}

Parameters DmmaProduct::parameters(const Launch& launch) const {
  const GemmDescription& d = tiling_.description;
  GemmArguments arguments = launch.arguments;
  if (tiling_.transposed) std::swap(arguments.a, arguments.b);
  const auto source = [&](const void* data, const OperandLayout& layout, std::int64_t mn, std::int64_t k_stride,
                          bool k_is_contiguous, std::int64_t mn_count) {
    const std::int64_t contiguous = k_is_contiguous ? k_stride : mn;
    const std::int64_t other = k_is_contiguous ? mn : k_stride;
    const bool has_others = (k_is_contiguous ? mn_count : d.k) > 1;
    const bool aligned = !layout.pointer_array && contiguous == 1 && (other % 2 == 0 || !has_others) &&
                         (layout.batch_stride % 2 == 0 || d.batch_count == 1) &&
                         reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
    const auto elements =
        magnitude(k_stride) <= magnitude(mn) ? Source::Path::elements_k_major : Source::Path::elements_mn_major;
    return Source{static_cast<const double*>(data), layout, mn, k_stride, aligned ? Source::Path::pairs : elements};
  };
  Parameters w{
      .a = source(arguments.a, d.a, d.a.row_stride, d.a.column_stride, false, d.m),
      .b = source(arguments.b, d.b, d.b.column_stride, d.b.row_stride, true, d.n),
      .c = static_cast<double*>(arguments.c),
      .c_layout = d.c,
      .m = d.m,
      .n = d.n,
      .k = d.k,
      .partials = tiling_.split_k > 1 ? static_cast<double*>(launch.workspace) : nullptr,
      .partial_rows = d.m + d.m % 2,
      .tiles_m = static_cast<std::uint32_t>(tiling_.tiles_m),
      .tiles_n = static_cast<std::uint32_t>(tiling_.tiles_n),
      .split_k = static_cast<std::uint32_t>(tiling_.split_k),
      .chunks_per_slice = static_cast<std::uint32_t>(core::ceil_divide(tiling_.chunks, tiling_.split_k)),
      .chunks = static_cast<std::uint32_t>(tiling_.chunks),
      .work_tiles = static_cast<std::uint32_t>(tiling_.tiles_m * tiling_.tiles_n * tiling_.split_k * d.batch_count),
      .epilogue = Epilogue<double, double>(d, arguments)};
  return w;
}

Status DmmaProduct::launch(const Launch& launch) const {
  const Parameters w = parameters(launch);
  if (Status s = tiling_.tile->launch(w, device_, kernel_, launch.stream); !s.ok() || w.partials == nullptr) return s;
  const dim3 grid(static_cast<unsigned>(core::ceil_divide(w.m * w.n, reduce_threads)),
                  static_cast<unsigned>(std::min<std::int64_t>(tiling_.description.batch_count, 65535)));
  return check(launch_early(device_.compute_capability >= 90, reduce_kernel, grid, reduce_threads, 0, launch.stream, w),
               "launch", kernel_);
}

std::string DmmaProduct::blocking() const {
  const auto field = [](const char* name, std::int64_t value) { return name + std::to_string(value); };
  return field("BM=", tiling_.tile->bm) + field(" BN=", tiling_.tile->bn) + field(" BK=", block_k) +
         field(" STAGES=", tiling_.tile->stages) + field(" SPLIT_K=", tiling_.split_k) +
         (tiling_.transposed ? " SWAP=1" : "");
}

std::int64_t DmmaProduct::workspace_bytes() const {
  const GemmDescription& d = tiling_.description;
  return tiling_.split_k > 1 ? 8 * d.batch_count * tiling_.chunks * (d.m + d.m % 2) * d.n : 0;
}

double DmmaProduct::model_bytes() const {
  const GemmDescription& d = tiling_.description;
  const auto m = static_cast<double>(d.m);
  const auto n = static_cast<double>(d.n);
  const auto once = static_cast<double>(tiling_.tiles_n) * m * static_cast<double>(d.k) +
                    static_cast<double>(tiling_.tiles_m) * n * static_cast<double>(d.k) + m * n;
  return 8 * once * static_cast<double>(d.batch_count) + 2 * static_cast<double>(workspace_bytes());
}

}  // namespace exactile::cuda::dmma
