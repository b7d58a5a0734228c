// SPDX-License-Identifier: Apache-2.0
// `sm90_f32_fp16x3_split_a_wgmma`, `sm90_f32_fp16x3_split_b_wgmma`: as sm90_f32_fp16x3_wgmma, but A (or B) is split in
// registers, on its way to the tensor cores: for products in which it is by far the larger operand. K is split, by n
// and k alone, so that bits do not depend on the number of rows; splitk_reduce() adds them, and sums plainly what the
// slices could not hold. Traffic model: the large operand is read once; the other one is read, written as 4 bytes an
// element and read by every row of tiles, through L2; each K slice writes and reads a C. Limit: memory bandwidth, from
// some 200 columns of tiles on the tensor cores. See docs/design/sm90_f32_wgmma.md.
#include <limits>
#include <optional>
#include <string>

#include "core/checked.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/f32_sliced.cuh"
#include "cuda/kernels/sm90/register_gemm.cuh"
#include "cuda/kernels/sm90/register_plan.hpp"
#include "cuda/tile/early_launch.cuh"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace sm90 {
namespace {

template <int columns>
[[nodiscard]] Status enqueue_register_split(const RegisterParameters& p, int ctas, std::string_view kernel,
                                            cudaStream_t stream) {
  constexpr int shared_bytes = sizeof(SplitPipelines<columns>);
  if (Status s = allow_shared_memory(multiply_register_split<columns>, shared_bytes, kernel); !s.ok()) return s;
  return check(launch_clusters(true, p.cluster_size, multiply_register_split<columns>, static_cast<unsigned>(ctas),
                               cta_threads, shared_bytes, stream, p),
               "launch", kernel);
}

/// Of tiles so wide.
struct TileWidth {
  int columns;
  Status (*enqueue)(const RegisterParameters&, int ctas, std::string_view kernel, cudaStream_t);
};
constexpr TileWidth tile_widths[] = {{64, enqueue_register_split<64>},   {72, enqueue_register_split<72>},
                                     {128, enqueue_register_split<128>}, {144, enqueue_register_split<144>},
                                     {192, enqueue_register_split<192>}, {256, enqueue_register_split<256>}};

[[nodiscard]] Status make_sliced_map(RegisterParameters& p, int columns) {
  const std::int64_t row_bytes = slices_row_bytes<Fp16x3>(p.sliced.slice_k());
  return make_tensor_map(p.sliced_map, {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                                        .data = p.sliced.slices,
                                        .columns = row_bytes / 2,
                                        .rows = p.sliced.rows,
                                        .batches = std::int64_t{p.sliced.split_k} * p.sliced.batches,
                                        .row_bytes = row_bytes,
                                        .batch_bytes = row_bytes * p.sliced.rows,
                                        .box_columns = Fp16x3::row_bytes / 2,
                                        .box_rows = columns / p.cluster_size});
}

constexpr std::string_view register_name(Operand unsplit) {
  return unsplit == Operand::a ? "sm90_f32_fp16x3_split_a_wgmma" : "sm90_f32_fp16x3_split_b_wgmma";
}

class RegisterProduct final : public DeviceProduct {
 public:
  RegisterProduct(const GemmDescription& description, Operand unsplit, RegisterTiles tiles, const Device& device)
      : unsplit_(unsplit), plan_(description, unsplit, tiles), layout_(plan_), device_(device) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override { return layout_.bytes; }
  [[nodiscard]] std::string blocking() const override {
    return "BM=128 BN=" + std::to_string(plan_.tiles.columns) + " BK=64 KC=" + (plan_.halves_chunks() ? "32" : "64") +
           " SPLIT_K=" + std::to_string(plan_.split_k);
  }
  [[nodiscard]] double model_bytes() const override {
    const GemmDescription& d = plan_.d;
    const double sides = static_cast<double>(plan_.a_batches * d.m * (plan_.a_unsplit ? 1 : 3) +
                                             plan_.b_batches * d.n * (plan_.a_unsplit ? 3 : 1));
    return 4 * (sides * static_cast<double>(d.k) +
                static_cast<double>(d.m * d.n * d.batch_count) * (1 + 2.0 * plan_.split_k));
  }
  [[nodiscard]] std::int64_t prepared_bytes(Operand operand) const override {
    return operand == unsplit_ ? 0 : prepacked_operand().bytes;
  }
  [[nodiscard]] Status prepare(Operand, const void* elements, void* form, cudaStream_t stream) const override {
    SplitPair pair{operand_of(sliced_side()), {}};
    pair.a.data = static_cast<const float*>(elements);
    prepacked_operand().place(pair.a, form);
    pair.b = pair.a;
    pair.b.batches = 0;
    return enqueue_split<Fp16x3>(pair, nullptr, 0, stream);
  }
  [[nodiscard]] std::vector<Path> paths() const override {
    return {{"f16x3", "tiles", "all of C, but for elements that the next path takes"}, summed_path()};
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    auto* base = static_cast<std::byte*>(launch.workspace);
    const void* elements[] = {launch.arguments.a, launch.arguments.b};
    SplitOperand operands[] = {operand_of(Operand::a), operand_of(Operand::b)};
    for (int i = 0; i < 2; ++i) operands[i].data = static_cast<const float*>(elements[i != plan_.is_transposed]);
    SplitOperand& sliced = operands[plan_.a_unsplit ? 1 : 0];
    SplitOperand& unsplit = operands[plan_.a_unsplit ? 0 : 1];
    const void* prepared = unsplit_ == Operand::a ? launch.prepared_b : launch.prepared_a;
    if (prepared != nullptr) {
      prepacked_operand().place(sliced, const_cast<void*>(prepared));  // only read from now on
    } else {
      sliced.scales = scales_at(base + layout_.scales[0], sliced);
      sliced.slices = base + layout_.slices;
      SplitPair pair{sliced, sliced};
      pair.b.batches = 0;
      if (Status s = enqueue_split<Fp16x3>(pair, nullptr, 0, launch.stream, true); !s.ok()) return s;
    }
    const bool k_major = is_k_major(unsplit);
    unsplit.scales = scales_at(base + layout_.scales[1], unsplit);
    const std::optional<F32TileLayout> tile_layout = tma_layout_of(unsplit, k_major);
    RegisterParameters p{.unsplit_map = {},
                         .sliced_map = {},
                         .unsplit = unsplit,
                         .sliced = sliced,
                         .by_tma = tile_layout.has_value(),
                         .tile_layout = tile_layout.value_or(F32TileLayout{k_major, false, {}}),
                         .row_tiles = plan_.row_tiles,
                         .column_tiles = plan_.column_tiles,
                         .batches = static_cast<int>(plan_.d.batch_count),
                         .cluster_size = plan_.tiles.cluster_size,
                         .partials = {.data = reinterpret_cast<float*>(base + layout_.partials),
                                      .split_k = plan_.split_k,
                                      .pitch = layout_.partial_pitch},
                         .is_transposed = !plan_.a_unsplit,
                         .halves_chunks = plan_.halves_chunks(),
                         .after_split = prepared == nullptr};
    if (tile_layout)
      if (Status s = make_f32_maps(p.unsplit_map, p.unsplit, p.tile_layout); !s.ok()) return s;
    if (Status s = make_sliced_map(p, plan_.tiles.columns); !s.ok()) return s;
    const int cluster_size = plan_.tiles.cluster_size;
    const int ctas =
        static_cast<int>(std::min<std::int64_t>(plan_.work_tiles(), device_.sm_count / cluster_size)) * cluster_size;
    const auto* width = std::ranges::find(tile_widths, plan_.tiles.columns, &TileWidth::columns);
    if (Status s = width->enqueue(p, ctas, register_name(unsplit_), launch.stream); !s.ok()) return s;
    return finish(p, operands[0], operands[1], launch);
  }

 private:
  [[nodiscard]] Operand sliced_side() const { return plan_.a_unsplit ? Operand::b : Operand::a; }
  [[nodiscard]] PrepackedOperand prepacked_operand() const {
    SplitOperand all = operand_of(sliced_side());
    all.batches *= all.split_k;
    return {all, slices_row_bytes<Fp16x3>(all.slice_k())};
  }
  [[nodiscard]] SplitOperand operand_of(Operand which) const {
    const bool is_unsplit = (which == Operand::a) == plan_.a_unsplit;
    return k_sliced_operand(plan_.d, which, layout_.pitch[is_unsplit],
                            is_unsplit ? plan_.split_k : plan_.presplit_k_slices(), plan_.k_per_slice);
  }
  [[nodiscard]] Status finish(const RegisterParameters& r, const SplitOperand& a, const SplitOperand& b,
                              const Launch& launch) const {
    const GemmDescription& d = plan_.d;
    SplitKReduce p{.operands = {a, b},
                   .partials = r.partials,
                   .batches = r.batches,
                   .underflow_scale = plan_.halves_chunks() ? underflow_scale<Fp16x3InHalves>(static_cast<int>(d.k))
                                                            : underflow_scale<Fp16x3>(static_cast<int>(d.k)),
                   .out = {.data = static_cast<float*>(launch.arguments.c),
                           .layout = d.c,
                           .rows = static_cast<int>(d.m),
                           .columns = static_cast<int>(d.n),
                           .by_tma = false,
                           .epilogue = Epilogue<float, float>(d, launch.arguments)}};
    if (launch.path_counts != nullptr) p.out.summed = launch.path_counts + 1;
    if (Status s = enqueue_splitk_reduce(p, launch.stream); !s.ok()) return s;
    return launch.path_counts == nullptr
               ? Status()
               : enqueue_count({r.row_tiles, r.column_tiles, r.batches}, nullptr, launch.path_counts, launch.stream);
  }

  Operand unsplit_;
  RegisterPlan plan_;
  SplitWorkspace layout_;
  const Device& device_;
};

template <Operand unsplit>
[[nodiscard]] std::string_view register_refuses(const plan::Problem& problem, const Device& device) {
  if (const std::string_view why = slices_refuse(problem); !why.empty()) return why;
  const RegisterPlan plan(problem.description, unsplit, narrowest);
  if (plan.work_tiles() > 1 << 30) return "the product has too many tiles";
  if (static_cast<double>(SplitWorkspace(plan).bytes) > 0.5 * static_cast<double>(device.memory_bytes))
    return "the slices and the partial sums of split-K need too much memory";
  return {};
}

template <Operand unsplit>
[[nodiscard]] std::vector<Candidate> register_candidates(const plan::Problem& problem, const Device& device) {
  std::vector<Candidate> all;
  for (const TileWidth& width : tile_widths)
    for (const int cluster_size : {2, 1}) {
      if (width.columns / cluster_size % 8 != 0) continue;
      const RegisterPlan plan(problem.description, unsplit, {width.columns, cluster_size});
      const GemmDescription& d = plan.d;
      const OperandLayout& layout = plan.a_unsplit ? d.a : d.b;
      // What tma_layout_of() asks of a layout; addresses are not known yet.
      const auto [line, step] = std::minmax(layout.row_stride, layout.column_stride);
      const bool by_tma = !layout.pointer_array && line == 1 &&
                          (plan.unsplit_batches() == 1 || (layout.batch_stride > 0 && layout.batch_stride % 4 == 0));
      all.push_back(
          {.configuration = {.bm = tile_m, .bn = width.columns, .cluster_m = cluster_size, .split_k = plan.split_k},
           .demand = {.tiles = static_cast<double>(plan.work_tiles() * cluster_size),
                      .slots = static_cast<double>(device.sm_count),
                      .steps = std::ceil(static_cast<double>(std::min<std::int64_t>(plan.k_per_slice, d.k)) / chunk_k),
                      .bytes = 4.0 * static_cast<double>(plan.unsplit_batches() * plan.unsplit_rows() * d.k),
                      .copied_bytes = 8.0 * static_cast<double>(plan.sliced_batches() * plan.sliced_rows() * d.k) +
                                      splitk_reduce_bytes(d, plan.split_k),
                      .side_kernels = 2,
                      .path = !by_tma         ? 2
                              : step % 4 == 0 ? 0
                                              : 1}});
    }
  return all;
}

template <Operand unsplit>
constexpr Kernel register_kernel{
    .name = register_name(unsplit),
    .role = "engine",
    .summary = unsplit == Operand::a ? "f32 as two scaled f16 slices; a large A is split in registers"
                                     : "f32 as two scaled f16 slices; a large B is split in registers",
    .types = f32_types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses = register_refuses<unsplit>,
    .candidates = register_candidates<unsplit>,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<RegisterProduct>(p.description, unsplit, RegisterTiles{c.bn, c.cluster_m}, device);
    },
    .has_instances = true};

}  // namespace
}  // namespace sm90

const Kernel sm90_f32_fp16x3_split_a_wgmma = sm90::register_kernel<Operand::a>;
const Kernel sm90_f32_fp16x3_split_b_wgmma = sm90::register_kernel<Operand::b>;

}  // namespace exactile::cuda
