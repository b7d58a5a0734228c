// SPDX-License-Identifier: Apache-2.0
// `sm90_f32_fp16x3_mma`: f32 products of few rows or columns with the bits that sm90_f32_fp16x3_wgmma leaves where K is
// not split. The smaller operand is split ahead; the larger one, W, is read once and split in registers, by scales that
// a sample of it gives. The CTAs of a cluster share K, and add the sums of its chunks in order. Traffic model: the
// smaller operand read, written and read again, W once for each 64 rows, C. Limit: memory. See
// docs/design/sm90_f32_wgmma.md.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/f32_sliced.cuh"
#include "cuda/kernels/sm90/f32_tensor_maps.cuh"
#include "cuda/kernels/sm90/ordered/kernel.cuh"
#include "cuda/runtime/clusters.hpp"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda {
namespace sm90 {
namespace {

using namespace ordered;

constexpr std::string_view ordered_name = "sm90_f32_fp16x3_mma";

/// How a product is laid over the device. Nothing here changes a bit.
struct OrderedPlan {
  GemmDescription d;
  bool few_is_a;
  int rows;  ///< of a CTA, of the operand that is split ahead
  std::int64_t row_blocks;
  std::int64_t groups;  ///< of W's columns
  std::int64_t chunks;
  int ctas;                   ///< that share an SM
  int ranks;                  ///< CTAs of a cluster
  std::int64_t round_chunks;  ///< of a CTA, in one round

  OrderedPlan(const GemmDescription& description, const Device& device, int rows_of_cta)
      : d(description),
        few_is_a(d.m <= d.n),
        rows(rows_of_cta),
        row_blocks(core::ceil_divide(few_is_a ? d.m : d.n, std::int64_t{rows})),
        groups(core::ceil_divide(few_is_a ? d.n : d.m, std::int64_t{tile_columns})),
        chunks(core::ceil_divide(d.k, std::int64_t{chunk_terms})),
        ctas(rows > group_rows || fills_once(device) ? 1 : 2),
        ranks(1),
        round_chunks(chunks) {
    const std::int64_t room = most_sums_bytes(rows, ctas) / (rows * tile_columns * 4);  // for chunks of a round
    while (room >= warps && ranks < most_cluster(device) && fits(2 * ranks, device) && ranks * warps < chunks)
      ranks *= 2;
    const std::int64_t own = core::ceil_divide(chunks, std::int64_t{ranks});
    if (ranks > 1) round_chunks = core::ceil_divide(own, core::ceil_divide(own, room));
  }

  /// Whether the tiles are as many as the SMs, so that K need not be shared.
  [[nodiscard]] bool fills_once(const Device& device) const {
    return tiles() <= device.sm_count && 2 * tiles() > device.sm_count;
  }
  /// Whether clusters of that size run at the same time: GPCs have no room for many that are not portable.
  [[nodiscard]] bool fits(int size, const Device& device) const {
    const int sms = size > most_portable_cluster ? sms_filled(device, size) : device.sm_count;
    return size * tiles() <= std::int64_t{ctas} * sms;
  }
  [[nodiscard]] int stages_bytes() const { return warps * warp_bytes(rows, ctas); }
  [[nodiscard]] std::int64_t tiles() const { return row_blocks * groups * d.batch_count; }
  [[nodiscard]] SplitOperand operand(bool is_few) const {
    const Operand which = is_few == few_is_a ? Operand::a : Operand::b;
    const std::int64_t vectors = which == Operand::a ? d.m : d.n;
    SplitOperand o = k_sliced_operand(d, which, core::round_up(vectors, split::tile), 1, 0);
    o.sample = ScaleSample(o.k);
    return o;
  }
};

/// Places in the workspace, in bytes from its start.
struct OrderedWorkspace {
  std::int64_t few_scales;
  std::int64_t wide_scales;
  std::int64_t slices;
  std::int64_t bytes = 0;

  explicit OrderedWorkspace(const OrderedPlan& plan) {
    constexpr std::int64_t alignment = 256;
    const auto take = [this](std::int64_t size) {
      return std::exchange(bytes, core::round_up(bytes + size, alignment));
    };
    const auto words = [](const SplitOperand& o) { return std::int64_t{o.batches} * o.scales_pitch; };
    const SplitOperand few = plan.operand(true);
    few_scales = take(8 * words(few));
    wide_scales = take(8 * words(plan.operand(false)));
    slices = take(std::int64_t{few.batches} * few.rows * slices_row_bytes<Fp16x3>(few.k));
  }
};

/// With its data, or as if they were aligned.
[[nodiscard]] Reading reading_of(const SplitOperand& o) {
  const std::optional<F32TileLayout> lines = tma_layout_of(o, is_k_major(o));
  if (!lines || lines->misaligned) return Reading::scattered;
  return lines->k_major ? Reading::along : Reading::across;
}

[[nodiscard]] auto kernel_of(int rows, int ctas) {
  switch (rows) {
    case 8: return ctas == 1 ? multiply_in_order<8, 1> : multiply_in_order<8, 2>;
    case 16: return multiply_in_order<16, 1>;
    case 32: return multiply_in_order<32, 1>;
    default: return multiply_in_order<64, 1>;
  }
}

class OrderedProduct final : public DeviceProduct {
 public:
  OrderedProduct(const GemmDescription& description, const Device& device, int rows)
      : plan_(description, device, rows), layout_(plan_) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override { return layout_.bytes; }
  [[nodiscard]] std::string blocking() const override {
    return "BM=" + std::to_string(plan_.rows) + " BN=32 BK=64 cluster=" + std::to_string(plan_.ranks);
  }
  [[nodiscard]] double model_bytes() const override {
    const SplitOperand few = plan_.operand(true);
    return sliced_model_bytes(plan_.d, 4) + 8.0 * few.batches * few.rows * few.k;
  }
  [[nodiscard]] Status launch(const Launch& launch) const override {
    Parameters p = parameters(launch);
    // It has ended the kernels before it, so that W may be read while it runs.
    if (Status s = enqueue_split<Fp16x3>({p.few, nothing_of(p.few)}, nullptr, 0, launch.stream, true); !s.ok())
      return s;
    if (Status s = make_maps(p); !s.ok()) return s;
    const auto kernel = kernel_of(plan_.rows, plan_.ctas);
    const int stages = plan_.stages_bytes();
    const int shared_bytes = stages + sums_bytes(plan_.rows, plan_.ranks, static_cast<int>(plan_.round_chunks));
    if (Status s = allow_shared_memory(kernel, stages + most_sums_bytes(plan_.rows, plan_.ctas), ordered_name); !s.ok())
      return s;
    if (Status s = allow_clusters(kernel, plan_.ranks, ordered_name); !s.ok()) return s;
    return check(launch_clusters(true, plan_.ranks, kernel, static_cast<unsigned>(plan_.tiles() * plan_.ranks), threads,
                                 static_cast<std::size_t>(shared_bytes), launch.stream, p),
                 "launch", ordered_name);
  }

 private:
  [[nodiscard]] static SplitOperand nothing_of(SplitOperand operand) {
    operand.batches = 0;
    return operand;
  }
  [[nodiscard]] Parameters parameters(const Launch& launch) const {
    auto* const base = static_cast<std::byte*>(launch.workspace);
    const auto placed = [&](bool is_few, std::int64_t scales) {
      SplitOperand o = plan_.operand(is_few);
      o.data = static_cast<const float*>(is_few == plan_.few_is_a ? launch.arguments.a : launch.arguments.b);
      o.scales = scales_at(base + scales, o);
      return o;
    };
    Parameters p{.few = placed(true, layout_.few_scales),
                 .wide = placed(false, layout_.wide_scales),
                 .few_map = {},
                 .wide_map = {},
                 .reading = Reading::scattered,
                 .few_is_a = plan_.few_is_a,
                 .row_blocks = static_cast<int>(plan_.row_blocks),
                 .groups = static_cast<int>(plan_.groups),
                 .chunks = static_cast<int>(plan_.chunks),
                 .round_chunks = static_cast<int>(plan_.round_chunks),
                 .underflow_scale = underflow_scale<Fp16x3>(static_cast<int>(plan_.d.k)),
                 .most_element_error = 0,
                 .underflow_scale_again = underflow_scale<Bf16x6>(static_cast<int>(plan_.d.k)),
                 .out = {.data = static_cast<float*>(launch.arguments.c),
                         .layout = plan_.d.c,
                         .rows = static_cast<int>(plan_.d.m),
                         .columns = static_cast<int>(plan_.d.n),
                         .by_tma = false,
                         .epilogue = Epilogue<float, float>(plan_.d, launch.arguments)}};
    p.few.slices = base + layout_.slices;
    p.most_element_error = most_element_error(most_underflows(p.few.k), p.underflow_scale);
    return p;
  }

  /// How TMA finds both operands' chunks.
  [[nodiscard]] Status make_maps(Parameters& p) const {
    const std::int64_t slices_bytes = slices_row_bytes<Fp16x3>(p.few.k);
    if (Status s = make_tensor_map(p.few_map, {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                                               .data = p.few.slices,
                                               .columns = slices_bytes / 2,
                                               .rows = p.few.rows,
                                               .batches = p.few.batches,
                                               .row_bytes = slices_bytes,
                                               .batch_bytes = slices_bytes * p.few.rows,
                                               .box_columns = row_bytes / 2,
                                               .box_rows = plan_.rows});
        !s.ok())
      return s;
    p.reading = reading_of(p.wide);
    if (p.reading == Reading::scattered) return {};
    const bool along = p.reading == Reading::along;
    const std::int64_t lines = along ? p.wide.rows : p.wide.k;
    const std::int64_t line_bytes = 4 * (along ? p.wide.layout.row_stride : p.wide.layout.column_stride);
    return make_tensor_map(p.wide_map,
                           {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                            .data = const_cast<float*>(p.wide.data),
                            .columns = along ? p.wide.k : p.wide.rows,
                            .rows = lines,
                            .batches = p.wide.batches,
                            .row_bytes = line_bytes,
                            .batch_bytes = p.wide.batches == 1 ? lines * line_bytes : 4 * p.wide.layout.batch_stride,
                            .box_columns = row_bytes / 4,
                            .box_rows = along ? tile_columns : block_k});
  }

  OrderedPlan plan_;
  OrderedWorkspace layout_;
};

[[nodiscard]] std::string_view ordered_refuses(const plan::Problem& problem, const Device& device) {
  if (const std::string_view why = slices_refuse(problem); !why.empty()) return why;
  const OrderedPlan plan(problem.description, device, group_rows);
  if (plan.tiles() > 1 << 27) return "the product has too many tiles";
  return OrderedWorkspace(plan).bytes <= device.memory_bytes / 2 ? "" : "the slices need too much memory";
}

[[nodiscard]] std::vector<Candidate> ordered_candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription& d = problem.description;
  std::vector<Candidate> candidates;
  for (int rows = group_rows; rows <= most_rows; rows *= 2) {
    if (rows > group_rows && rows / 2 >= std::min(d.m, d.n)) break;
    const OrderedPlan plan(d, device, rows);
    const SplitOperand few = plan.operand(true);
    const SplitOperand wide = plan.operand(false);
    const int places = rows == group_rows ? 2 : 1;  // of an SM: a CTA that is alone there counts as several
    const int taken = places / plan.ctas;
    candidates.push_back(
        {.configuration = {.bm = rows, .bn = tile_columns},
         .demand = {.tiles = static_cast<double>(plan.tiles() * plan.ranks * taken),
                    .slots = static_cast<double>(places * device.sm_count),
                    .steps = std::ceil(static_cast<double>(plan.chunks) / (warps * plan.ranks * taken)),
                    .bytes = sliced_model_bytes(d, 4),
                    .copied_bytes = 8.0 * few.batches * few.rows * few.k,
                    .side_kernels = 1,
                    .path = static_cast<int>(reading_of(wide))}});
  }
  return candidates;
}

}  // namespace
}  // namespace sm90

const Kernel sm90_f32_fp16x3_mma{
    .name = sm90::ordered_name,
    .role = "engine",
    .summary = "f32 of few rows or columns: two scaled f16 slices, the CTAs of a cluster share K",
    .types = sm90::f32_types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses = sm90::ordered_refuses,
    .candidates = sm90::ordered_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<sm90::OrderedProduct>(p.description, device, c.bm);
    }};

}  // namespace exactile::cuda
