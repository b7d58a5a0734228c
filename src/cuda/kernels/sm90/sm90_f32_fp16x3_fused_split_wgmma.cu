// SPDX-License-Identifier: Apache-2.0
// `sm90_f32_fp16x3_fused_split_wgmma`: as sm90_f32_fp16x3_split_a_wgmma, but both operands are split in the kernel that
// multiplies, in registers: for products so small, or so deep, or so flat, that a split ahead takes longer than the
// product. Where C is small K is taken in parts, by n and k alone, so that bits do not depend on the number of rows,
// and combine_lines() adds them; everything else is one kernel, which sums plainly what the slices could not hold.
// Traffic model: A and B are read by every tile of 128 x 128 that needs them, through L2; each part of K writes and
// reads a C. Limit: memory bandwidth; where tiles share much, the split. See docs/ladder/sm90_f32_wgmma.md.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/sm90/both_gemm.cuh"
#include "cuda/kernels/sm90/f32_sliced.cuh"
#include "cuda/kernels/sm90/sm90_kernels.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace sm90 {
namespace {

constexpr std::string_view both_name = "sm90_f32_fp16x3_fused_split_wgmma";
constexpr std::int64_t alignment = 1024;

/// A product with C's columns contiguous where that can be.
struct BothPlan {
  GemmDescription d;
  bool is_transposed;
  int part_k;  ///< K is taken in parts of so many, multiples of a chunk
  int parts;
  std::int64_t a_batches;
  std::int64_t b_batches;
  std::int64_t row_tiles;
  std::int64_t column_tiles;

  explicit BothPlan(const GemmDescription& description)
      : d(with_contiguous_rows(description)),
        is_transposed(!(d == description)),
        part_k(part_k_of(description)),
        parts(static_cast<int>((d.k + part_k - 1) / part_k)),
        a_batches(plan::distinct_matrices(d.a, d.batch_count)),
        b_batches(plan::distinct_matrices(d.b, d.batch_count)),
        row_tiles((d.m + tile_m - 1) / tile_m),
        column_tiles((d.n + both_n - 1) / both_n) {}

  [[nodiscard]] std::int64_t tiles() const { return row_tiles * column_tiles * d.batch_count; }

 private:
  /// So many that a C with as many rows as columns has a part for every multiprocessor.
  [[nodiscard]] static int part_k_of(const GemmDescription& d) {
    constexpr std::int64_t multiprocessors = 132;  // of an H200: the parts depend on no device
    constexpr std::int64_t least = 256;
    const std::int64_t across = std::min<std::int64_t>((d.n + both_n - 1) / both_n, multiprocessors);
    const std::int64_t most = std::clamp<std::int64_t>(multiprocessors / (across * across), 1, most_parts);
    return static_cast<int>(core::round_up(std::max((d.k + most - 1) / most, least), chunk_k));
  }
};

/// Places in the workspace, in bytes from its start. Nothing where K is not taken in parts.
struct BothLayout {
  std::int64_t facts[2] = {};  ///< of A, of B: maxima, then tiny elements
  std::int64_t pitch[2];       ///< of those facts
  std::int64_t partials = 0;
  std::int64_t partial_pitch;
  std::int64_t bytes = 0;

  explicit BothLayout(const BothPlan& plan)
      : pitch{plan.row_tiles * tile_m, plan.column_tiles * both_n}, partial_pitch(core::round_up(plan.d.n, 4)) {
    if (plan.parts == 1) return;
    const auto take = [this](std::int64_t size) {
      return std::exchange(bytes, core::round_up(bytes + size, alignment));
    };
    facts[0] = take(plan.parts * plan.a_batches * pitch[0] * 8);
    facts[1] = take(plan.parts * plan.b_batches * pitch[1] * 8);
    partials = take(plan.parts * plan.d.batch_count * plan.d.m * partial_pitch * 4);
  }
};

[[nodiscard]] SplitOperand both_operand(const BothPlan& plan, Operand which) {
  return operand_in_parts(plan.d, which, which == Operand::a ? plan.row_tiles * tile_m : plan.column_tiles * both_n,
                          plan.parts, plan.part_k);
}

/// Whether lines_for_tma() finds lines wherever the operand lies.
[[nodiscard]] bool tma_reaches(SplitOperand operand) {
  operand.data = reinterpret_cast<const float*>(std::uintptr_t{4});
  return lines_for_tma(operand, runs_along_k(operand)).has_value();
}

/// Whether rows of C can be written 16 bytes at a time.
[[nodiscard]] bool is_written_by_vectors(const GemmDescription& d, const void* c) {
  return d.c.column_stride == 1 && d.n % 4 == 0 && d.c.row_stride % 4 == 0 && !d.c.pointer_array &&
         (d.batch_count == 1 || d.c.batch_stride % 4 == 0) && reinterpret_cast<std::uintptr_t>(c) % 16 == 0;
}

template <bool whole>
[[nodiscard]] Status enqueue_both(const BothParameters& p, int ctas, cudaStream_t stream) {
  constexpr int shared_bytes = sizeof(BothSpace);
  if (Status s = allow_shared_memory(multiply_both<whole>, shared_bytes, both_name); !s.ok()) return s;
  return check(
      launch_early(true, multiply_both<whole>, static_cast<unsigned>(ctas), both_threads, shared_bytes, stream, p),
      "launch", both_name);
}

class BothProduct final : public DeviceProduct {
 public:
  BothProduct(const GemmDescription& description, const Device& device)
      : plan_(description), layout_(plan_), device_(device) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override { return layout_.bytes; }
  [[nodiscard]] std::string blocking() const override {
    return "BM=128 BN=128 BK=64 KC=32 SPLIT_K=" + std::to_string(plan_.parts);
  }
  [[nodiscard]] double model_bytes() const override {
    const GemmDescription& d = plan_.d;
    const double sides = static_cast<double>(plan_.a_batches * d.m + plan_.b_batches * d.n);
    return 4 * (sides * static_cast<double>(d.k) +
                static_cast<double>(d.m * d.n * d.batch_count) * (plan_.parts == 1 ? 1 : 1 + 2.0 * plan_.parts));
  }
  [[nodiscard]] std::vector<Path> paths() const override {
    return {{"f16x3", "tiles", "all of C, but for elements that the next path takes"}, summed_path()};
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmDescription& d = plan_.d;
    auto* base = static_cast<std::byte*>(launch.workspace);
    const void* elements[] = {launch.arguments.a, launch.arguments.b};
    SplitOperand operands[] = {both_operand(plan_, Operand::a), both_operand(plan_, Operand::b)};
    std::optional<TileLines> lines[2];
    for (int i = 0; i < 2; ++i) {
      operands[i].data = static_cast<const float*>(elements[i != plan_.is_transposed]);
      operands[i].facts = facts_at(base + layout_.facts[i], operands[i]);
      lines[i] = lines_for_tma(operands[i], runs_along_k(operands[i]));
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(operands[i].data) % sizeof(float) == 0;
      if (!is_aligned || !lines[i])
        return {StatusCode::invalid_argument, "an operand does not lie at a multiple of four bytes"};
    }
    BothParameters p{.maps = {},
                     .lines = {*lines[0], *lines[1]},
                     .operands = {operands[0], operands[1]},
                     .order = {static_cast<int>(plan_.row_tiles), static_cast<int>(plan_.column_tiles),
                               static_cast<int>(d.batch_count)},
                     .partials = {.data = reinterpret_cast<float*>(base + layout_.partials),
                                  .parts = plan_.parts,
                                  .pitch = layout_.partial_pitch},
                     .tiny_scale = tiny_scale<Fp16x3InHalves>(static_cast<int>(d.k)),
                     .out = {.data = static_cast<float*>(launch.arguments.c),
                             .layout = d.c,
                             .rows = static_cast<int>(d.m),
                             .columns = static_cast<int>(d.n),
                             .by_tma = false,
                             .epilogue = Epilogue<float, float>(d, launch.arguments),
                             .summed = launch.path_counts == nullptr ? nullptr : launch.path_counts + 1},
                     .stores_vectors = false};
    p.stores_vectors = p.out.epilogue.is_plain && is_written_by_vectors(d, launch.arguments.c);
    if (Status s = make_unsplit_maps(p.maps[0], p.operands.a, p.lines[0]); !s.ok()) return s;
    if (Status s = make_unsplit_maps(p.maps[1], p.operands.b, p.lines[1]); !s.ok()) return s;
    const auto ctas = static_cast<int>(std::min<std::int64_t>(plan_.tiles() * plan_.parts, device_.multiprocessors));
    const Status enqueued =
        plan_.parts == 1 ? enqueue_both<true>(p, ctas, launch.stream) : enqueue_both<false>(p, ctas, launch.stream);
    if (!enqueued.ok()) return enqueued;
    if (plan_.parts > 1)
      if (Status s = enqueue_combine_lines(combined(p), p.partials, launch.stream); !s.ok()) return s;
    return launch.path_counts == nullptr ? Status()
                                         : enqueue_count(p.order, nullptr, launch.path_counts, launch.stream);
  }

 private:
  [[nodiscard]] static GemmParameters combined(const BothParameters& p) {
    return {.a = {},
            .b = {},
            .c = {},
            .order = p.order,
            .shares = {},
            .carried = {},
            .part_sums = {},
            .parts = p.partials.parts,
            .blocks = 0,
            .operands = p.operands,
            .tiny_scale = p.tiny_scale,
            .hopeless_tiny = 0,
            .out = p.out,
            .left = {}};
  }

  BothPlan plan_;
  BothLayout layout_;
  const Device& device_;
};

[[nodiscard]] std::string_view both_refuses(const plan::Problem& problem, const Device& device) {
  if (const std::string_view why = slices_refuse(problem); !why.empty()) return why;
  const BothPlan plan(problem.description);
  if (!tma_reaches(both_operand(plan, Operand::a)) || !tma_reaches(both_operand(plan, Operand::b)))
    return "needs four rows and columns, and operands with contiguous rows or columns, not given by pointers";
  if (plan.tiles() * plan.parts > 1 << 30) return "the product has too many tiles";
  if (static_cast<double>(BothLayout(plan).bytes) > 0.5 * static_cast<double>(device.memory_bytes))
    return "the sums of parts of K need too much memory";
  return {};
}

[[nodiscard]] std::vector<Candidate> both_candidates(const plan::Problem& problem, const Device& device) {
  const BothPlan plan(problem.description);
  const GemmDescription& d = plan.d;
  const bool is_aligned =
      std::max(d.a.row_stride, d.a.column_stride) % 4 == 0 && std::max(d.b.row_stride, d.b.column_stride) % 4 == 0;
  return {{.configuration = {.bm = tile_m, .bn = both_n, .split_k = plan.parts},
           .demand = {.tiles = static_cast<double>(plan.tiles() * plan.parts),
                      .slots = static_cast<double>(device.multiprocessors),
                      .steps = std::ceil(static_cast<double>(std::min<std::int64_t>(plan.part_k, d.k)) / chunk_k),
                      .bytes = 4.0 * static_cast<double>((plan.a_batches * d.m + plan.b_batches * d.n) * d.k +
                                                         d.m * d.n * d.batch_count),
                      .copied_bytes = plan.parts == 1 ? 0 : combined_bytes(d, plan.parts),
                      .side_kernels = plan.parts == 1 ? 0 : 1,
                      .path = is_aligned ? 0 : 1}}};
}

}  // namespace
}  // namespace sm90

const Kernel sm90_f32_fp16x3_fused_split_wgmma{
    .name = sm90::both_name,
    .role = "engine",
    .summary = "f32 as two scaled f16 slices; both operands are split in registers",
    .types = sm90::f32_types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses = sm90::both_refuses,
    .candidates = sm90::both_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<sm90::BothProduct>(p.description, device);
    }};

}  // namespace exactile::cuda
