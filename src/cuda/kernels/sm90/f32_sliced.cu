// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/f32_sliced.cuh"

#include <cmath>
#include <cstdlib>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/sm90/f32_tensor_maps.cuh"
#include "plan/column_major.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90 {
namespace {

constexpr std::int64_t alignment = 1024;

/// How many slices K is best split into. Depends on the shape alone, so that bits do not depend on the device.
[[nodiscard]] int split_k_of(std::int64_t tiles, int k) {
  constexpr int least_k_per_slice = 256;  // of K: less is not worth a partial sum
  return static_cast<int>(std::clamp<std::int64_t>(most_split_k_tiles / tiles, 1,
                                                   std::max(1, std::min(k / least_k_per_slice, most_split_k))));
}

/// Whether TMA can address C: contiguous rows, everything else in steps of 16 bytes. The number of columns too: TMA
/// writes the whole of a 16-byte piece that begins inside the tensor.
[[nodiscard]] bool stores_by_tma(const GemmDescription& d, const GemmArguments& arguments) {
  return !d.c.pointer_array && d.c.column_stride == 1 && d.n % 4 == 0 && d.c.row_stride % 4 == 0 &&
         d.c.batch_stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(arguments.c) % 16 == 0 && d.c.row_stride > 0 &&
         d.c.row_stride < std::int64_t{1} << 37 && d.c.batch_stride < std::int64_t{1} << 37;
}

}  // namespace

GemmDescription with_contiguous_rows(const GemmDescription& description) {
  return plan::is_column_major(description) ? plan::transposed(description) : description;
}

SlicedWorkspace::SlicedWorkspace(const GemmDescription& d, const SlicedForm& form, int clusters)
    : a_batches(plan::distinct_matrices(d.a, d.batch_count)),
      b_batches(plan::distinct_matrices(d.b, d.batch_count)),
      a_pitch(core::round_up(d.m, cluster * tile_m)),
      b_pitch(core::round_up(d.n, tile_n)),
      scheduler{static_cast<int>(a_pitch / (cluster * tile_m)), static_cast<int>(b_pitch / tile_n),
                static_cast<int>(d.batch_count)},
      buckets(d.m, d.n, d.batch_count,
              std::abs(d.a.column_stride) > std::abs(d.a.row_stride) &&
                  std::abs(d.b.row_stride) <= std::abs(d.b.column_stride)),
      has_sample(form.has_sample),
      split_k(form.may_split_k ? split_k_of(scheduler.count(), static_cast<int>(d.k)) : 1) {
  const std::int64_t tiles = scheduler.count() * cluster;
  // No slices need more than those of the fix-up.
  const std::int64_t row_bytes = std::int64_t{blocks_of<Fp16x3>(static_cast<int>(d.k))} * block_bytes<Bf16x6>;
  std::int64_t end = 0;
  const auto take = [&end](std::int64_t size) { return std::exchange(end, core::round_up(end + size, alignment)); };
  const std::int64_t scale_bytes = (a_batches * a_pitch + b_batches * b_pitch) * 4;
  max_bits = take(scale_bytes);
  underflows = take(scale_bytes);
  underflows_again = take(scale_bytes);
  fixup_count = take(sizeof(FixupCount));
  fixup_heads = take(std::int64_t{buckets.count} * 4);
  fixup_blocks = take(scale_bytes / fixup_block_size);
  fixup_warps = take(tiles * 8);
  const std::int64_t carry_places = uses_stream_k(clusters) ? clusters * StreamKCarry::places : 0;
  carry_ready = take(carry_places * 4);
  split_k_state = take(split_k == 1 ? 0 : tiles * 4);
  zeroed = end;
  fixup_filled = take(std::int64_t{buckets.count} * 4);
  fixup_list = take(tiles * list_capacity * static_cast<std::int64_t>(sizeof(FixupElement)));
  fixup_marks = take(tiles * consumers * warpgroup_threads * 16);
  a_slices = take(a_batches * d.m * row_bytes);
  b_slices = take(b_batches * d.n * row_bytes);
  split_k_sums = take(split_k == 1 ? 0 : split_k * tiles * SplitKWorkspace::tile_bytes);
  carry_sums = take(carry_places * StreamKCarry::place_bytes);
  bytes = end;
}

bool SlicedWorkspace::uses_stream_k(int clusters) const {
  return split_k == 1 &&
         StreamK(scheduler.count(), clusters, 1, pays_stream_k(scheduler.count(), clusters)).splits_tiles();
}

SplitOperand split_operand(const GemmDescription& d, const SlicedWorkspace& layout, Operand operand) {
  SplitOperand o = k_sliced_operand(d, operand, operand == Operand::a ? layout.a_pitch : layout.b_pitch, 1, 0);
  if (layout.has_sample) o.sample = ScaleSample(o.k);
  return o;
}

GemmParameters sliced_parameters(const GemmDescription& d, const GemmArguments& arguments,
                                 const SlicedWorkspace& layout, void* workspace) {
  auto* base = static_cast<std::byte*>(workspace);
  auto* max_bits = reinterpret_cast<unsigned*>(base + layout.max_bits);
  auto* underflows = reinterpret_cast<unsigned*>(base + layout.underflows);
  const std::int64_t b_first = layout.a_batches * layout.a_pitch;
  auto* fixup_blocks = reinterpret_cast<unsigned*>(base + layout.fixup_blocks);
  const auto operand = [&](Operand which, const void* data, std::int64_t slices, std::int64_t first) {
    SplitOperand o = split_operand(d, layout, which);
    o.data = static_cast<const float*>(data);
    o.slices = base + slices;
    o.scales = {max_bits + first, underflows + first};
    return o;
  };
  const Epilogue<float, float> epilogue(d, arguments);
  return {.a = {},
          .b = {},
          .c = {},
          .scheduler = layout.scheduler,
          .stream_k = {},
          .carry = {.ready = reinterpret_cast<unsigned*>(base + layout.carry_ready),
                    .sums = reinterpret_cast<float4*>(base + layout.carry_sums)},
          .split_k_sums = {.state = reinterpret_cast<unsigned*>(base + layout.split_k_state),
                           .sums = reinterpret_cast<float4*>(base + layout.split_k_sums)},
          .split_k = 1,
          .blocks = 0,
          .operands = {.a = operand(Operand::a, arguments.a, layout.a_slices, 0),
                       .b = operand(Operand::b, arguments.b, layout.b_slices, b_first)},
          .underflow_scale = 0,
          .most_underflows = 0,
          .out = {.data = static_cast<float*>(arguments.c),
                  .layout = d.c,
                  .rows = static_cast<int>(d.m),
                  .columns = static_cast<int>(d.n),
                  .by_tma = epilogue.is_plain && stores_by_tma(d, arguments),
                  .epilogue = epilogue},
          .fixup = {.count = reinterpret_cast<FixupCount*>(base + layout.fixup_count),
                    .buckets = layout.buckets,
                    .heads = reinterpret_cast<unsigned*>(base + layout.fixup_heads),
                    .filled = reinterpret_cast<int*>(base + layout.fixup_filled),
                    .list = reinterpret_cast<FixupElement*>(base + layout.fixup_list),
                    .fixup_blocks = {fixup_blocks, fixup_blocks + b_first / fixup_block_size},
                    .warps = reinterpret_cast<std::uint64_t*>(base + layout.fixup_warps),
                    .marks = reinterpret_cast<unsigned*>(base + layout.fixup_marks)}};
}

PrepackedOperand::PrepackedOperand(const SplitOperand& operand, std::int64_t row_bytes) {
  const std::int64_t scale_bytes = std::int64_t{operand.batches} * operand.scales_pitch * 4;
  underflows = core::round_up(scale_bytes, alignment);
  slices = 2 * underflows;
  bytes = slices + std::int64_t{operand.batches} * operand.rows * row_bytes;
}

void PrepackedOperand::place(SplitOperand& operand, void* form) const {
  auto* base = static_cast<std::byte*>(form);
  operand.scales = {reinterpret_cast<unsigned*>(base), reinterpret_cast<unsigned*>(base + underflows)};
  operand.slices = base + slices;
}

Status enqueue_zero(const SlicedWorkspace& layout, const Launch& launch) {
  return check(cudaMemsetAsync(static_cast<std::byte*>(launch.workspace) + layout.underflows_again, 0,
                               static_cast<std::size_t>(layout.zeroed - layout.underflows_again), launch.stream),
               "cudaMemsetAsync");
}

Path summed_path() {
  return {"plain", "elements", "what is too small for those slices too: summed from A and B in f32"};
}

namespace {

constexpr int count_threads = 256;

__global__ void __launch_bounds__(count_threads)
    count_tiles(const std::uint64_t* fixup_warps, int tiles, std::uint64_t* counts) {
  isa::wait_for_kernel_before();
  auto* const to = reinterpret_cast<unsigned long long*>(counts);
  for (int tile = static_cast<int>(threadIdx.x); tile < tiles; tile += count_threads) {
    const std::uint64_t bits =
        fixup_warps == nullptr ? 0 : fixup_warps[tile * cluster] | fixup_warps[tile * cluster + 1];
    if ((bits & skipped_tile_bit) == 0) atomicAdd(to, 1ull);
    if (bits != 0) atomicAdd(to + 1, 1ull);
  }
}

/// Of A and B, as if no products shared any.
[[nodiscard]] double elements_of(const GemmDescription& d) {
  return (static_cast<double>(d.m) + static_cast<double>(d.n)) * static_cast<double>(d.k) *
         static_cast<double>(d.batch_count);
}

}  // namespace

Status enqueue_count(const TileScheduler& scheduler, const std::uint64_t* fixup_warps, std::uint64_t* counts,
                     cudaStream_t stream) {
  return check(launch_early(true, count_tiles, 1, count_threads, 0, stream, fixup_warps, scheduler.count(), counts),
               "launch", "count_tiles");
}

std::string_view slices_refuse(const plan::Problem& problem) {
  const GemmDescription& d = problem.description;
  constexpr std::int64_t most = 1 << 30;
  if (d.k < 64) return "needs k >= 64 to keep the bound";
  if (d.k > 1 << 20) return "needs k <= 2^20 to keep the bound";
  if (d.m > most || d.n > most || d.batch_count > most) return "needs m, n and the batch to be at most 2^30";
  const double tiles = (static_cast<double>(d.m) / (cluster * tile_m) + 1) * (static_cast<double>(d.n) / tile_n + 1) *
                       static_cast<double>(d.batch_count);
  return tiles > most || elements_of(d) / 64 > most ? "the product has too many tiles" : "";
}

std::string_view sliced_refuses(const plan::Problem& problem, const Device& device, const SlicedForm& form) {
  if (const std::string_view why = slices_refuse(problem); !why.empty()) return why;
  const SlicedWorkspace layout(with_contiguous_rows(problem.description), form, clusters_of(device));
  return layout.bytes <= device.memory_bytes / 2 ? "" : "the slices need too much memory";
}

std::vector<Candidate> sliced_candidates(const GemmDescription& description, const Device& device,
                                         const SlicedForm& form) {
  const GemmDescription d = with_contiguous_rows(description);
  const int clusters = clusters_of(device);
  const SlicedWorkspace layout(d, form, clusters);
  const double elements = static_cast<double>((layout.a_batches * d.m + layout.b_batches * d.n) * d.k);
  const double c_bytes = 4.0 * static_cast<double>(d.m * d.n * d.batch_count);
  const bool by_tma = d.n % 4 == 0 && d.c.row_stride % 4 == 0;
  return {{.configuration = {.bm = cluster * tile_m, .bn = tile_n, .cluster_m = cluster, .split_k = layout.split_k},
           .demand = {.tiles = static_cast<double>(layout.scheduler.count()) * layout.split_k,
                      .slots = static_cast<double>(clusters),
                      .steps = std::ceil(static_cast<double>(d.k) / (block_k * layout.split_k)),
                      .bytes = c_bytes,
                      .copied_bytes = elements * (8 + block_bytes<Fp16x3> / static_cast<double>(block_k)),
                      .side_kernels = 2,
                      .path = by_tma ? 0 : 1,
                      .stream_k = layout.uses_stream_k(clusters)}}};
}

double sliced_model_bytes(const GemmDescription& d, double bytes_per_element) {
  const std::int64_t elements =
      (plan::distinct_matrices(d.a, d.batch_count) * d.m + plan::distinct_matrices(d.b, d.batch_count) * d.n) * d.k;
  return bytes_per_element * static_cast<double>(elements) + 4.0 * static_cast<double>(d.m * d.n * d.batch_count);
}

Status make_output_map(GemmParameters& p, const GemmDescription& d) {
  if (!p.out.by_tma) return {};
  return make_tensor_map(p.c, {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                               .data = p.out.data,
                               .columns = d.n,
                               .rows = d.m,
                               .batches = d.batch_count,
                               .row_bytes = 4 * d.c.row_stride,
                               .batch_bytes = 4 * (d.batch_count == 1 ? d.m * d.c.row_stride : d.c.batch_stride),
                               .box_columns = 32,
                               .box_rows = 64});
}

}  // namespace exactile::cuda::sm90
