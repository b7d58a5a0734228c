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

constexpr std::int64_t most_items = 0x7fffffff;

std::int64_t magnitude(std::int64_t stride) { return stride < 0 ? -stride : stride; }

/// How many operands lie as a stage does: A with its rows contiguous, B with its terms.
int fits(const GemmDescription& d) {
  return (magnitude(d.a.row_stride) <= magnitude(d.a.column_stride)) +
         (magnitude(d.b.row_stride) <= magnitude(d.b.column_stride));
}

/// The share of the memory's rate that blocks reach: where they are few, each waits for its own copies. Boxes of less
/// than 32 rows of A or 64 columns of B read memory in shorter pieces, and copies by elements of such narrow tiles in
/// the shortest.
double share_of_memory(const Cut& c, double items, const Device& device) {
  const bool streams_a = c.description.m >= c.description.n;
  const double width = streams_a ? c.tile->bm / 32.0 : c.tile->bn / 64.0;
  const bool by_elements = fits(c.description) < 2 && std::min(c.tile->bm, c.tile->bn) == 16;
  return (by_elements ? 0.55 : 1) * std::min(0.85, 0.5 + 0.25 * items * std::min(1.0, width) / device.multiprocessors);
}

/// Seconds: tensor cores, L2 and memory all work at the same time; then come the launches. What is read from L2 takes
/// power too: of two tiles that compute for as long the larger one is faster.
double estimate(const Cut& c, const Device& device, double multiply_adds_per_cycle) {
  constexpr double l2_bytes_per_cycle = 30;  // of one multiprocessor, while all read
  const GemmDescription& d = c.description;
  const TileKind& tile = *c.tile;
  const auto items = static_cast<double>(c.tiles_m * c.tiles_n * c.pieces * d.batch_count);
  const auto terms = static_cast<double>(std::min(d.k, core::ceil_divide(c.chunks, c.pieces) * chunk_terms));
  const double fill = 48;  // terms: the way of the first stages
  const double item_cycles = tile.bm * tile.bn * (terms + fill) / multiply_adds_per_cycle / tile.efficiency;
  const double computing = std::ceil(items / device.multiprocessors) * item_cycles;
  const double reading = items / device.multiprocessors * 8 * (tile.bm + tile.bn) * terms / l2_bytes_per_cycle;

  const auto batch = static_cast<double>(d.batch_count);
  const auto elements = static_cast<double>(d.m * d.n) * batch;
  double bytes = 8 * (static_cast<double>(d.m + d.n) * static_cast<double>(d.k) * batch + elements);
  double overhead = 4e-6;
  if (c.pieces > 1) {
    bytes += 8 * elements * static_cast<double>(c.chunks);
    overhead += 2e-6 + 8 * elements * static_cast<double>(c.chunks) / (0.7 * device.memory_bytes_per_second);
  }
  constexpr double power_of_reading = 0.2;
  return std::max((std::max(computing, reading) + power_of_reading * reading) / device.clock_hertz,
                  bytes / (share_of_memory(c, items, device) * device.memory_bytes_per_second)) +
         overhead;
}

}  // namespace

std::string_view why_refused(const GemmDescription& d) {
  // No tile has fewer than 16 rows or columns; one chunk a piece is the finest cut of K.
  const std::int64_t tiles = core::ceil_divide(d.m, 16) * core::ceil_divide(d.n, 16);
  if (tiles > most_items || core::ceil_divide(d.k, chunk_terms) > most_items / tiles / d.batch_count)
    return "more pieces than 32 bits count";
  return "";
}

Cut cut(const GemmDescription& description, const Device& device, std::span<const TileKind> kinds,
        double multiply_adds_per_cycle) {
  Cut best;
  for (const bool transposed : {false, true}) {
    Cut c;
    c.description = transposed ? plan::transposed(description) : description;
    c.transposed = transposed;
    const GemmDescription& d = c.description;
    c.chunks = core::ceil_divide(d.k, chunk_terms);
    for (const TileKind& tile : kinds) {
      c.tile = &tile;
      c.tiles_m = core::ceil_divide(d.m, tile.bm);
      c.tiles_n = core::ceil_divide(d.n, tile.bn);
      for (c.pieces = 1; c.pieces <= c.chunks;
           c.pieces = c.pieces == c.chunks ? c.chunks + 1 : std::min(2 * c.pieces, c.chunks)) {
        c.seconds = estimate(c, device, multiply_adds_per_cycle) * (1 + 0.02 * (2 - fits(d)));
        if (best.tile == nullptr || c.seconds < best.seconds) best = c;
      }
    }
  }
  best.pieces = core::ceil_divide(best.chunks, core::ceil_divide(best.chunks, best.pieces));  // no empty one
  return best;
}

Work DmmaProduct::work(const Launch& launch) const {
  const GemmDescription& d = cut_.description;
  GemmArguments arguments = launch.arguments;
  if (cut_.transposed) std::swap(arguments.a, arguments.b);
  const auto source = [&](const void* data, const OperandLayout& layout, std::int64_t outer, std::int64_t inner,
                          bool inner_is_contiguous, std::int64_t outers) {
    const std::int64_t contiguous = inner_is_contiguous ? inner : outer;
    const std::int64_t other = inner_is_contiguous ? outer : inner;
    const bool has_others = (inner_is_contiguous ? outers : d.k) > 1;
    const bool aligned = !layout.pointer_array && contiguous == 1 && (other % 2 == 0 || !has_others) &&
                         (layout.batch_stride % 2 == 0 || d.batch_count == 1) &&
                         reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
    const auto elements =
        magnitude(inner) <= magnitude(outer) ? Source::Path::elements_along_k : Source::Path::elements_along_outer;
    return Source{static_cast<const double*>(data), layout, outer, inner, aligned ? Source::Path::pairs : elements};
  };
  Work w{.a = source(arguments.a, d.a, d.a.row_stride, d.a.column_stride, false, d.m),
         .b = source(arguments.b, d.b, d.b.column_stride, d.b.row_stride, true, d.n),
         .c = static_cast<double*>(arguments.c),
         .c_layout = d.c,
         .m = d.m,
         .n = d.n,
         .k = d.k,
         .partials = cut_.pieces > 1 ? static_cast<double*>(launch.workspace) : nullptr,
         .partial_rows = d.m + d.m % 2,
         .tiles_m = static_cast<std::uint32_t>(cut_.tiles_m),
         .tiles_n = static_cast<std::uint32_t>(cut_.tiles_n),
         .pieces = static_cast<std::uint32_t>(cut_.pieces),
         .chunks_per_piece = static_cast<std::uint32_t>(core::ceil_divide(cut_.chunks, cut_.pieces)),
         .chunks = static_cast<std::uint32_t>(cut_.chunks),
         .items = static_cast<std::uint32_t>(cut_.tiles_m * cut_.tiles_n * cut_.pieces * d.batch_count),
         .epilogue = Epilogue<double, double>(d, arguments)};
  return w;
}

Status DmmaProduct::launch(const Launch& launch) const {
  const Work w = work(launch);
  if (Status s = cut_.tile->launch(w, device_, kernel_, launch.stream); !s.ok() || w.partials == nullptr) return s;
  const dim3 grid(static_cast<unsigned>(core::ceil_divide(w.m * w.n, reduce_threads)),
                  static_cast<unsigned>(std::min<std::int64_t>(cut_.description.batch_count, 65535)));
  return check(launch_early(device_.compute_capability >= 90, reduce_kernel, grid, reduce_threads, 0, launch.stream, w),
               "launch", kernel_);
}

std::string DmmaProduct::blocking() const {
  const auto field = [](const char* name, std::int64_t value) { return name + std::to_string(value); };
  return field("BM=", cut_.tile->bm) + field(" BN=", cut_.tile->bn) + field(" BK=", block_terms) +
         field(" stages=", cut_.tile->stages) + field(" split-K=", cut_.pieces) +
         (cut_.transposed ? " transposed" : "");
}

std::int64_t DmmaProduct::workspace_bytes() const {
  const GemmDescription& d = cut_.description;
  return cut_.pieces > 1 ? 8 * d.batch_count * cut_.chunks * (d.m + d.m % 2) * d.n : 0;
}

double DmmaProduct::model_bytes() const {
  const GemmDescription& d = cut_.description;
  const auto m = static_cast<double>(d.m);
  const auto n = static_cast<double>(d.n);
  const auto once = static_cast<double>(cut_.tiles_n) * m * static_cast<double>(d.k) +
                    static_cast<double>(cut_.tiles_m) * n * static_cast<double>(d.k) + m * n;
  return 8 * once * static_cast<double>(d.batch_count) + 2 * static_cast<double>(workspace_bytes());
}

}  // namespace exactile::cuda::dmma
