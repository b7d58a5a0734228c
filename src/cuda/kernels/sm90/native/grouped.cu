// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/native/grouped.hpp"

#include <algorithm>
#include <limits>

#include "core/checked.hpp"
#include "cuda/kernels/sm90/native/alignment.hpp"
#include "cuda/kernels/sm90/native/operand_map.hpp"
#include "cuda/runtime/device.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90::native {
namespace {

template <class In>
class Grouped final : public plan::GroupedExecutable {
 public:
  using Accumulator = DeviceAccumulator<In>;
  static constexpr std::string_view kernel_ = grouped_name(multiplied_type<In>);

  Grouped(const GroupedDescription& description, const GroupedConfig& grouped, const Device& device)
      : groups_(description.groups),
        grouped_(grouped),
        most_tiles_(most_tiles(description, grouped)),
        config_{.d = whole(description),
                .multiplied = multiplied_type<In>,
                .is_transposed = false,
                .tile = grouped.tile,
                .cluster = {1, grouped.cluster_columns},
                .ctas_per_sm = 1,
                .slice_blocks = 0,
                .blocks_per_slice = core::ceil_divide(description.k, block_k),
                .split_k = 1},
        device_(device) {}

  [[nodiscard]] Status run(const GroupedArguments& arguments, const Execution& execution) const override {
    if (Status s = check(arguments); !s.ok()) return s;
    const DeviceGuard guard(device_.index);
    if (!guard.status().ok()) return guard.status();
    const GemmDescription& d = config_.d;
    GroupedParameters<Accumulator> p = parameters(arguments);
    const Source a{arguments.a, Major::k, d.a.row_stride, 0};
    const bool is_mn_major = operand_major_of(plan::transposed(d.b), config_.multiplied, false) == OperandMajor::mn;
    const Source b{arguments.b, is_mn_major ? Major::mn : Major::k, is_mn_major ? d.b.row_stride : d.b.column_stride,
                   d.b.batch_stride};
    if (Status s = map_operand(p.a, a, {d.m, d.k, 1}, config_, config_.tile.m, config_.cluster.columns); !s.ok())
      return s;
    if (Status s = map_operand(p.b, b, {d.n, d.k, groups_}, config_, config_.tile.n, 1); !s.ok()) return s;
    if (Status s = map_output(p); !s.ok()) return s;
    p.reach = {.rows = loaded(a.major, d.m, config_.tile.m, config_.cluster.columns),
               .columns = loaded(b.major, d.n, config_.tile.n, 1),
               .last_row = std::numeric_limits<int>::max(),
               .last_column = std::numeric_limits<int>::max()};
    const auto clusters = std::min<std::int64_t>(most_tiles_, resident_clusters(config_, device_));
    return enqueue_grouped_tiles<In>(p, config_.tile, b.major, static_cast<int>(clusters) * config_.cluster.size(),
                                     kernel_, static_cast<cudaStream_t>(execution.queue));
  }
  [[nodiscard]] std::string_view kernel() const override { return kernel_; }
  [[nodiscard]] std::string blocking() const override {
    return to_string(configuration_of(grouped_)) + " BK=" + std::to_string(block_k);
  }

 private:
  static constexpr std::int64_t block_k = 128 / sizeof(In);

  [[nodiscard]] Status check(const GroupedArguments& arguments) const {
    if (arguments.alpha.is_zero())
      return {StatusCode::unsupported, "alpha = 0: expected another factor for groups on CUDA"};
    if (!is_aligned(arguments.a))
      return {StatusCode::invalid_argument, "a: expected an address that is a multiple of 16 for groups on CUDA"};
    if (!is_aligned(arguments.b))
      return {StatusCode::invalid_argument, "b: expected an address that is a multiple of 16 for groups on CUDA"};
    if (reinterpret_cast<std::uintptr_t>(arguments.offsets) % alignof(std::int64_t) != 0)
      return {StatusCode::invalid_argument, "offsets: expected an address that is a multiple of 8"};
    return {};
  }

  [[nodiscard]] GroupedParameters<Accumulator> parameters(const GroupedArguments& arguments) const {
    const GemmDescription& d = config_.d;
    const GemmArguments whole{.c = arguments.c,
                              .alpha = arguments.alpha,
                              .beta = arguments.beta,
                              .row_scales = arguments.row_scales,
                              .column_scales = arguments.column_scales};
    Output<Accumulator> out = output_of<Accumulator>(d, whole, false);
    out.store_by = store_by(config_, whole);
    out.is_aligned = has_aligned_rows(d, whole);
    const int blocks = static_cast<int>(config_.blocks_per_slice);
    return {.a = {},
            .b = {},
            .c = {},
            .scheduler = {.offsets = arguments.offsets,
                          .groups = static_cast<int>(groups_),
                          .total_rows = static_cast<int>(d.m),
                          .columns = static_cast<int>(clusters_across(d.n, grouped_)),
                          .strip_rows = 2048 / config_.tile.m},
            .cluster = config_.cluster,
            .stages = std::min(stages_for(config_.tile, 1), std::max(blocks, 4)),
            .split_k = 1,
            .by_split_k = Divisor(1),
            .blocks_per_slice = blocks,
            .blocks = blocks,
            .reach = {},
            .a_is_shared = true,
            .b_is_shared = false,
            .out = out};
  }

  /// C as matrices of a warp's rows, one for each row that may be behind a warp's last: find_rows() in group_walk.cuh.
  [[nodiscard]] Status map_output(GroupedParameters<Accumulator>& p) const {
    if (p.out.store_by != StoreBy::boxes) return {};
    const std::int64_t size = size_in_bytes(p.out.type);
    const std::int64_t row_bytes = config_.d.c.row_stride * size;
    return make_tensor_map(p.c, {.type = map_type(p.out.type),
                                 .data = static_cast<std::byte*>(p.out.data) - warp_rows * row_bytes,
                                 .columns = p.out.columns,
                                 .rows = warp_rows,
                                 .batches = config_.d.m + 1,
                                 .row_bytes = row_bytes,
                                 .batch_bytes = row_bytes,
                                 .box_columns = static_cast<int>(128 / size),
                                 .box_rows = warp_rows});
  }

  std::int64_t groups_;
  GroupedConfig grouped_;
  std::int64_t most_tiles_;
  LaunchConfig config_;
  const Device& device_;
};

}  // namespace

std::unique_ptr<plan::GroupedExecutable> make_grouped_product(const GroupedDescription& d, const GroupedConfig& config,
                                                              const Device& device) {
  switch (d.types.input) {
    case ElementType::bf16: return std::make_unique<Grouped<__nv_bfloat16>>(d, config, device);
    case ElementType::f16: return std::make_unique<Grouped<__half>>(d, config, device);
    default: return std::make_unique<Grouped<__nv_fp8_e4m3>>(d, config, device);
  }
}

}  // namespace exactile::cuda::sm90::native
