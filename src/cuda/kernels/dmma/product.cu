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
constexpr std::int64_t most_k_of_chunk = 1 << 30;

std::int64_t magnitude(std::int64_t stride) { return stride < 0 ? -stride : stride; }

/// Whether a stage is filled by pairs of neighbours, if the operand's address allows it. `others`: how many lines of
/// contiguous elements there are, `other` apart.
bool has_pairs(const GemmDescription& d, const OperandLayout& layout, std::int64_t contiguous, std::int64_t other,
               std::int64_t others) {
  return !layout.pointer_array && contiguous == 1 && (other % 2 == 0 || others == 1) &&
         (layout.batch_stride % 2 == 0 || d.batch_count == 1);
}
bool a_has_pairs(const GemmDescription& d) { return has_pairs(d, d.a, d.a.row_stride, d.a.column_stride, d.k); }
bool a_has_pairs_along_k(const GemmDescription& d) { return has_pairs(d, d.a, d.a.column_stride, d.a.row_stride, d.m); }
bool b_has_pairs(const GemmDescription& d) { return has_pairs(d, d.b, d.b.row_stride, d.b.column_stride, d.n); }

Tiling tiling_of(const GemmDescription& d, const TileKind& tile, const Configuration& c,
                 std::int64_t k_of_chunk = chunk_k) {
  Tiling t{.description = d,
           .transposed = c.swap != 0,
           .tile = &tile,
           .tiles_m = core::ceil_divide(d.m, tile.bm),
           .tiles_n = core::ceil_divide(d.n, tile.bn),
           .k_of_chunk = k_of_chunk,
           .cluster_k = c.cluster_k};
  if (t.cluster_k > 0) {
    t.k_of_chunk = core::round_up(core::ceil_divide(d.k, c.cluster_k), slice_step);
    t.chunks = t.split_k = core::ceil_divide(d.k, t.k_of_chunk);
    return t;
  }
  t.chunks = core::ceil_divide(d.k, k_of_chunk);
  t.split_k = core::ceil_divide(t.chunks, core::ceil_divide(t.chunks, std::min<std::int64_t>(c.split_k, t.chunks)));
  return t;  // no slice is empty
}

Candidate candidate(const Tiling& t, const Device& device) {
  const GemmDescription& d = t.description;
  const auto batch = static_cast<double>(d.batch_count);
  const bool takes_a = a_has_pairs(d) || (t.tile->launch_along_k != nullptr && a_has_pairs_along_k(d));
  const double elements = static_cast<double>(d.m * d.n) * batch;
  const auto k = static_cast<double>(std::min(d.k, core::ceil_divide(t.chunks, t.split_k) * t.k_of_chunk));
  const int cluster = std::max(t.cluster_k, 1);
  Demand demand{.tiles = static_cast<double>(t.tiles_m * t.tiles_n * t.split_k) * batch,
                .slots = static_cast<double>(sms_filled(device, cluster) / cluster * cluster) * t.tile->ctas,
                .ctas = t.tile->ctas,
                .steps = std::ceil(k / block_k),
                .bytes = 8 * (static_cast<double>(d.m + d.n) * static_cast<double>(d.k) * batch + elements),
                .path = (takes_a ? 0 : 1) + (b_has_pairs(d) ? 0 : 1)};
  if (t.split_k > 1 && t.cluster_k == 0) {
    demand.side_kernels = 1;
    demand.copied_bytes = 16 * elements * static_cast<double>(t.chunks);
  }
  return {{.bm = t.tile->bm,
           .bn = t.tile->bn,
           .cluster_k = t.cluster_k,
           .split_k = t.cluster_k > 0 ? 1 : static_cast<int>(t.split_k),
           .swap = t.transposed ? 1 : 0},
          demand};
}

std::int64_t tiles_of(const GemmDescription& d, const TileKind& tile) {
  return core::ceil_divide(d.m, tile.bm) * core::ceil_divide(d.n, tile.bn) * d.batch_count;
}

/// Into how many slices K may be cut, at most so many: powers of two, and those that fill waves of CTAs.
std::vector<int> splits_of(std::int64_t most, std::int64_t tiles, std::int64_t slots, int most_waves) {
  std::vector<int> all;
  for (std::int64_t split_k = 1; split_k < 2 * most; split_k *= 2)
    all.push_back(static_cast<int>(std::min(split_k, most)));
  for (int waves = 1; waves <= most_waves; ++waves)
    all.push_back(static_cast<int>(std::clamp(waves * slots / tiles, std::int64_t{1}, most)));
  std::ranges::sort(all);
  const auto doubles = std::ranges::unique(all);
  all.erase(doubles.begin(), doubles.end());
  return all;
}

/// Where tiles leave SMs idle: K is shared by the CTAs of a cluster, which have a chunk each.
void add_clusters(std::vector<Candidate>& all, const GemmDescription& d, const TileKind& tile, bool transposed,
                  const Device& device) {
  if (tiles_of(d, tile) >= std::int64_t{device.sm_count} * tile.ctas) return;
  for (int cluster_k = 2; cluster_k <= tile.most_cluster_k; cluster_k *= 2) {
    const Tiling t = tiling_of(d, tile, {.cluster_k = cluster_k, .swap = transposed ? 1 : 0});
    if (t.k_of_chunk <= most_k_of_chunk && t.split_k > cluster_k / 2) all.push_back(candidate(t, device));
  }
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
                 const Configuration& configuration, std::int64_t k_of_chunk) {
  const auto fits = [&](const TileKind& tile) { return tile.bm == configuration.bm && tile.bn == configuration.bn; };
  return tiling_of(configuration.swap != 0 ? plan::transposed(description) : description,
                   *std::ranges::find_if(kinds, fits), configuration, k_of_chunk);
}

Configuration in_one_chunk(const plan::Problem& problem, Configuration c) {
  if (!problem.reproducible && c.split_k <= 1 && c.cluster_k == 0 && problem.description.k <= most_k_of_chunk)
    c.cluster_k = 1;
  return c;
}

std::int64_t k_of_slice(const plan::Problem& problem, const Configuration& c) {
  if (problem.reproducible || c.split_k <= 1) return chunk_k;
  return std::min(core::round_up(core::ceil_divide(problem.description.k, c.split_k), slice_step), most_k_of_chunk);
}

std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device, std::span<const TileKind> kinds,
                                  Slices slices) {
  // Shorter slices take no less time beside the way of their sums, where one thread adds all of an element.
  constexpr std::int64_t shortest_slice = 256, most_slices = 64;
  constexpr int most_waves = 6;
  const bool free = slices == Slices::free && !problem.reproducible;
  std::vector<Candidate> all;
  for (const bool transposed : {false, true}) {
    const GemmDescription d = transposed ? plan::transposed(problem.description) : problem.description;
    const std::int64_t most =
        free ? std::min(core::ceil_divide(d.k, shortest_slice), most_slices) : core::ceil_divide(d.k, chunk_k);
    const double sums = 8 * static_cast<double>(d.batch_count) * static_cast<double>(most) * static_cast<double>(d.m) *
                        static_cast<double>(d.n);  // bytes, where K is split
    for (const TileKind& tile : kinds) {
      const std::int64_t tiles = tiles_of(d, tile), slots = std::int64_t{device.sm_count} * tile.ctas;
      // Beyond two waves of tiles the partial sums cost more than a last wave that is not full.
      const bool may_split = sums <= 0.4 * static_cast<double>(device.memory_bytes) && tiles < 2 * slots;
      std::int64_t before = 0;
      for (const int split_k : splits_of(may_split ? most : 1, tiles, slots, free ? most_waves : 0)) {
        const Configuration c{.split_k = split_k, .swap = transposed ? 1 : 0};
        const Tiling t = tiling_of(d, tile, c, free ? k_of_slice(problem, c) : chunk_k);
        if (t.split_k != std::exchange(before, t.split_k)) all.push_back(candidate(t, device));
      }
      if (!problem.reproducible) add_clusters(all, d, tile, transposed, device);
    }
  }
  return all;
}

Parameters DmmaProduct::parameters(const Launch& launch) const {
  const GemmDescription& d = tiling_.description;
  GemmArguments arguments = launch.arguments;
  if (tiling_.transposed) std::swap(arguments.a, arguments.b);
  const auto source = [](const void* data, const OperandLayout& layout, std::int64_t mn, std::int64_t k_stride,
                         bool has_pairs, bool has_pairs_along_k) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
    const auto elements =
        magnitude(k_stride) <= magnitude(mn) ? Source::Path::elements_k_major : Source::Path::elements_mn_major;
    return Source{
        static_cast<const double*>(data), layout, mn, k_stride, aligned && has_pairs ? Source::Path::pairs : elements,
        aligned && has_pairs_along_k};
  };
  Parameters w{
      .a = source(arguments.a, d.a, d.a.row_stride, d.a.column_stride, a_has_pairs(d), a_has_pairs_along_k(d)),
      .b = source(arguments.b, d.b, d.b.column_stride, d.b.row_stride, b_has_pairs(d), b_has_pairs(d)),
      .c = static_cast<double*>(arguments.c),
      .c_layout = d.c,
      .m = d.m,
      .n = d.n,
      .k = d.k,
      .partials = workspace_bytes() > 0 ? static_cast<double*>(launch.workspace) : nullptr,
      .partial_rows = d.m + d.m % 2,
      .tiles_m = static_cast<std::uint32_t>(tiling_.tiles_m),
      .tiles_n = static_cast<std::uint32_t>(tiling_.tiles_n),
      .split_k = static_cast<std::uint32_t>(tiling_.split_k),
      .chunks_per_slice = static_cast<std::uint32_t>(core::ceil_divide(tiling_.chunks, tiling_.split_k)),
      .chunks = static_cast<std::uint32_t>(tiling_.chunks),
      .k_of_chunk = static_cast<std::uint32_t>(tiling_.k_of_chunk),
      .work_tiles = static_cast<std::uint32_t>(tiling_.tiles_m * tiling_.tiles_n * tiling_.split_k * d.batch_count),
      .in_clusters = tiling_.cluster_k > 1,
      .epilogue = Epilogue<double, double>(d, arguments)};
  return w;
}

Status DmmaProduct::launch(const Launch& launch) const {
  const Parameters w = parameters(launch);
  const TileKind& tile = *tiling_.tile;
  const bool along_k = tile.launch_along_k != nullptr && w.a.pairs_along_k && w.a.path != Source::Path::pairs;
  Status s = (along_k ? tile.launch_along_k : tile.launch)(w, device_, kernel_, launch.stream);
  if (along_k && s.code() == StatusCode::unsupported) s = tile.launch(w, device_, kernel_, launch.stream);
  if (!s.ok() || w.partials == nullptr) return s;
  const dim3 grid(static_cast<unsigned>(core::ceil_divide(w.m * w.n, reduce_threads)),
                  static_cast<unsigned>(std::min<std::int64_t>(tiling_.description.batch_count, 65535)));
  return check(launch_early(device_.compute_capability >= 90, reduce_kernel, grid, reduce_threads, 0, launch.stream, w),
               "launch", kernel_);
}

std::string DmmaProduct::blocking() const {
  const auto field = [](const char* name, std::int64_t value) { return name + std::to_string(value); };
  return field("BM=", tiling_.tile->bm) + field(" BN=", tiling_.tile->bn) + field(" BK=", block_k) +
         field(" STAGES=", tiling_.tile->stages) +
         (tiling_.cluster_k > 1 ? field(" CLUSTER_K=", tiling_.cluster_k) : field(" SPLIT_K=", tiling_.split_k)) +
         (tiling_.transposed ? " SWAP=1" : "");
}

std::int64_t DmmaProduct::workspace_bytes() const {
  const GemmDescription& d = tiling_.description;
  return tiling_.split_k > 1 && tiling_.cluster_k == 0 ? 8 * d.batch_count * tiling_.chunks * (d.m + d.m % 2) * d.n : 0;
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
