// SPDX-License-Identifier: Apache-2.0
// `sm90_f32_fp16x3_fused_split_wgmma`: as sm90_f32_fp16x3_split_a_wgmma, but both operands are split in the kernel that
// multiplies, in registers: for products so small, or so deep, or so flat, that a split ahead takes longer than the
// product. Where C is small K is split, by n and k alone, so that bits do not depend on the number of rows, and
// splitk_reduce() adds them; everything else is one kernel, which sums plainly what the slices could not hold. Traffic
// model: A and B are read by every tile of 128 x 128 that needs them, through L2; each K slice writes and reads a C.
// Limit: memory bandwidth; where tiles share much, the split. See docs/design/sm90_f32_wgmma.md.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/f32_sliced.cuh"
#include "cuda/kernels/sm90/fused_split_gemm.cuh"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace sm90 {
namespace {

constexpr std::string_view fused_split_name = "sm90_f32_fp16x3_fused_split_wgmma";
constexpr std::int64_t alignment = 1024;

/// A product with C's columns contiguous where that can be.
struct FusedSplitPlan {
  GemmDescription d;
  bool is_transposed;
  int k_per_slice;  ///< of K in a slice, a multiple of a chunk
  int split_k;
  std::int64_t a_batches;
  std::int64_t b_batches;
  std::int64_t row_tiles;
  std::int64_t column_tiles;

  explicit FusedSplitPlan(const GemmDescription& description)
      : d(with_contiguous_rows(description)),
        is_transposed(!(d == description)),
        k_per_slice(k_per_slice_of(description)),
        split_k(static_cast<int>((d.k + k_per_slice - 1) / k_per_slice)),
        a_batches(plan::distinct_matrices(d.a, d.batch_count)),
        b_batches(plan::distinct_matrices(d.b, d.batch_count)),
        row_tiles((d.m + tile_m - 1) / tile_m),
        column_tiles((d.n + fused_n - 1) / fused_n) {}

  [[nodiscard]] std::int64_t tiles() const { return row_tiles * column_tiles * d.batch_count; }

 private:
  /// So many that a C with as many rows as columns has a K slice for every SM.
  [[nodiscard]] static int k_per_slice_of(const GemmDescription& d) {
    constexpr std::int64_t sm_count = 132;  // of an H200: the slices depend on no device
    constexpr std::int64_t least = 256;
    const std::int64_t across = std::min<std::int64_t>((d.n + fused_n - 1) / fused_n, sm_count);
    const std::int64_t most = std::clamp<std::int64_t>(sm_count / (across * across), 1, most_k_slices);
    return static_cast<int>(core::round_up(std::max((d.k + most - 1) / most, least), chunk_k));
  }
};

/// Places in the workspace, in bytes from its start. Nothing where K is not split.
struct FusedSplitWorkspace {
  std::int64_t scales[2] = {};  ///< of A, of B: maxima, then underflow counts
  std::int64_t pitch[2];        ///< of those scales
  std::int64_t partials = 0;
  std::int64_t partial_pitch;
  std::int64_t bytes = 0;

  explicit FusedSplitWorkspace(const FusedSplitPlan& plan)
      : pitch{plan.row_tiles * tile_m, plan.column_tiles * fused_n}, partial_pitch(core::round_up(plan.d.n, 4)) {
    if (plan.split_k == 1) return;
    const auto take = [this](std::int64_t size) {
      return std::exchange(bytes, core::round_up(bytes + size, alignment));
    };
    scales[0] = take(plan.split_k * plan.a_batches * pitch[0] * 8);
    scales[1] = take(plan.split_k * plan.b_batches * pitch[1] * 8);
    partials = take(plan.split_k * plan.d.batch_count * plan.d.m * partial_pitch * 4);
  }
};

[[nodiscard]] SplitOperand fused_split_operand(const FusedSplitPlan& plan, Operand which) {
  return k_sliced_operand(plan.d, which, which == Operand::a ? plan.row_tiles * tile_m : plan.column_tiles * fused_n,
                          plan.split_k, plan.k_per_slice);
}

/// Whether tma_layout_of() finds a layout wherever the operand lies.
[[nodiscard]] bool tma_reaches(SplitOperand operand) {
  operand.data = reinterpret_cast<const float*>(std::uintptr_t{4});
  return tma_layout_of(operand, is_k_major(operand)).has_value();
}

/// Whether rows of C can be written 16 bytes at a time.
[[nodiscard]] bool is_written_by_vectors(const GemmDescription& d, const void* c) {
  return d.c.column_stride == 1 && d.n % 4 == 0 && d.c.row_stride % 4 == 0 && !d.c.pointer_array &&
         (d.batch_count == 1 || d.c.batch_stride % 4 == 0) && reinterpret_cast<std::uintptr_t>(c) % 16 == 0;
}

template <bool whole>
[[nodiscard]] Status enqueue_fused_split(const FusedSplitParameters& p, int ctas, cudaStream_t stream) {
  constexpr int shared_bytes = sizeof(FusedShared);
  if (Status s = allow_shared_memory(multiply_fused_split<whole>, shared_bytes, fused_split_name); !s.ok()) return s;
  return check(launch_early(true, multiply_fused_split<whole>, static_cast<unsigned>(ctas), fused_threads, shared_bytes,
                            stream, p),
               "launch", fused_split_name);
}

class FusedSplitProduct final : public DeviceProduct {
 public:
  FusedSplitProduct(const GemmDescription& description, const Device& device)
      : plan_(description), layout_(plan_), device_(device) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override { return layout_.bytes; }
  [[nodiscard]] std::string blocking() const override {
    return "BM=128 BN=128 BK=64 KC=32 SPLIT_K=" + std::to_string(plan_.split_k);
  }
  [[nodiscard]] double model_bytes() const override {
    const GemmDescription& d = plan_.d;
    const double sides = static_cast<double>(plan_.a_batches * d.m + plan_.b_batches * d.n);
    return 4 * (sides * static_cast<double>(d.k) +
                static_cast<double>(d.m * d.n * d.batch_count) * (plan_.split_k == 1 ? 1 : 1 + 2.0 * plan_.split_k));
  }
  [[nodiscard]] std::vector<Path> paths() const override {
    return {{"f16x3", "tiles", "all of C, but for elements that the next path takes"}, summed_path()};
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmDescription& d = plan_.d;
    auto* base = static_cast<std::byte*>(launch.workspace);
    const void* elements[] = {launch.arguments.a, launch.arguments.b};
    SplitOperand operands[] = {fused_split_operand(plan_, Operand::a), fused_split_operand(plan_, Operand::b)};
    std::optional<F32TileLayout> tile_layout[2];
    for (int i = 0; i < 2; ++i) {
      operands[i].data = static_cast<const float*>(elements[i != plan_.is_transposed]);
      operands[i].scales = scales_at(base + layout_.scales[i], operands[i]);
      tile_layout[i] = tma_layout_of(operands[i], is_k_major(operands[i]));
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(operands[i].data) % sizeof(float) == 0;
      if (!is_aligned || !tile_layout[i])
        return {StatusCode::invalid_argument, "an operand does not lie at a multiple of four bytes"};
    }
    FusedSplitParameters p{.maps = {},
                           .tile_layout = {*tile_layout[0], *tile_layout[1]},
                           .operands = {operands[0], operands[1]},
                           .scheduler = {static_cast<int>(plan_.row_tiles), static_cast<int>(plan_.column_tiles),
                                         static_cast<int>(d.batch_count)},
                           .partials = {.data = reinterpret_cast<float*>(base + layout_.partials),
                                        .split_k = plan_.split_k,
                                        .pitch = layout_.partial_pitch},
                           .underflow_scale = underflow_scale<Fp16x3InHalves>(static_cast<int>(d.k)),
                           .out = {.data = static_cast<float*>(launch.arguments.c),
                                   .layout = d.c,
                                   .rows = static_cast<int>(d.m),
                                   .columns = static_cast<int>(d.n),
                                   .by_tma = false,
                                   .epilogue = Epilogue<float, float>(d, launch.arguments),
                                   .summed = launch.path_counts == nullptr ? nullptr : launch.path_counts + 1},
                           .stores_vectors = false};
    p.stores_vectors = p.out.epilogue.is_plain && is_written_by_vectors(d, launch.arguments.c);
    if (Status s = make_f32_maps(p.maps[0], p.operands.a, p.tile_layout[0]); !s.ok()) return s;
    if (Status s = make_f32_maps(p.maps[1], p.operands.b, p.tile_layout[1]); !s.ok()) return s;
    const auto ctas = static_cast<int>(std::min<std::int64_t>(plan_.tiles() * plan_.split_k, device_.sm_count));
    const Status enqueued = plan_.split_k == 1 ? enqueue_fused_split<true>(p, ctas, launch.stream)
                                               : enqueue_fused_split<false>(p, ctas, launch.stream);
    if (!enqueued.ok()) return enqueued;
    if (plan_.split_k > 1)
      if (Status s = enqueue_splitk_reduce({p.operands, p.partials, p.scheduler.batches, p.underflow_scale, p.out},
                                           launch.stream);
          !s.ok())
        return s;
    return launch.path_counts == nullptr ? Status()
                                         : enqueue_count(p.scheduler, nullptr, launch.path_counts, launch.stream);
  }

 private:
  FusedSplitPlan plan_;
  FusedSplitWorkspace layout_;
  const Device& device_;
};

[[nodiscard]] std::string_view fused_split_refuses(const plan::Problem& problem, const Device& device) {
  if (const std::string_view why = slices_refuse(problem); !why.empty()) return why;
  const FusedSplitPlan plan(problem.description);
  if (!tma_reaches(fused_split_operand(plan, Operand::a)) || !tma_reaches(fused_split_operand(plan, Operand::b)))
    return "needs four rows and columns, and operands with contiguous rows or columns, not given by pointers";
  if (plan.tiles() * plan.split_k > 1 << 30) return "the product has too many tiles";
  if (static_cast<double>(FusedSplitWorkspace(plan).bytes) > 0.5 * static_cast<double>(device.memory_bytes))
    return "the partial sums of split-K need too much memory";
  return {};
}

[[nodiscard]] std::vector<Candidate> fused_split_candidates(const plan::Problem& problem, const Device& device) {
  const FusedSplitPlan plan(problem.description);
  const GemmDescription& d = plan.d;
  const bool is_aligned =
      std::max(d.a.row_stride, d.a.column_stride) % 4 == 0 && std::max(d.b.row_stride, d.b.column_stride) % 4 == 0;
  return {{.configuration = {.bm = tile_m, .bn = fused_n, .split_k = plan.split_k},
           .demand = {.tiles = static_cast<double>(plan.tiles() * plan.split_k),
                      .slots = static_cast<double>(device.sm_count),
                      .steps = std::ceil(static_cast<double>(std::min<std::int64_t>(plan.k_per_slice, d.k)) / chunk_k),
                      .bytes = 4.0 * static_cast<double>((plan.a_batches * d.m + plan.b_batches * d.n) * d.k +
                                                         d.m * d.n * d.batch_count),
                      .copied_bytes = plan.split_k == 1 ? 0 : splitk_reduce_bytes(d, plan.split_k),
                      .side_kernels = plan.split_k == 1 ? 0 : 1,
                      .path = is_aligned ? 0 : 1}}};
}

}  // namespace
}  // namespace sm90

const Kernel sm90_f32_fp16x3_fused_split_wgmma{
    .name = sm90::fused_split_name,
    .role = "engine",
    .summary = "f32 as two scaled f16 slices; both operands are split in registers",
    .types = sm90::f32_types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses = sm90::fused_split_refuses,
    .candidates = sm90::fused_split_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<sm90::FusedSplitProduct>(p.description, device);
    }};

}  // namespace exactile::cuda
