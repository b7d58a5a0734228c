// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/native/product.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/sm90/native/alignment.hpp"
#include "cuda/kernels/sm90/native/operand_map.hpp"
#include "cuda/kernels/sm90/native/relayout.hpp"
#include "cuda/kernels/sm90/native/splitk_reduce_global.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90::native {
namespace {

constexpr std::int64_t alignment = 1024;

template <class In>
class Product final : public DeviceProduct {
 public:
  using Accumulator = DeviceAccumulator<In>;
  static constexpr std::string_view kernel_ = family_name(multiplied_type<In>);

  Product(const LaunchConfig& layout, const Device& device) : config_(layout), device_(device) {
    const GemmDescription& d = config_.d;
    const auto copy = [&](std::int64_t mn, const OperandLayout& operand) {
      constexpr std::int64_t size = sizeof(In);
      const std::int64_t matrix = std::max(mn * relayout_pitch(d.k, size), d.k * relayout_pitch(mn, size)) * size;
      return core::round_up(plan::distinct_matrices(operand, d.batch_count) * matrix, alignment);
    };
    a_bytes_ = copy(d.m, d.a);
    b_bytes_ = copy(d.n, d.b);
    if (config_.split_k > 1)
      partial_bytes_ = core::round_up(d.batch_count * config_.split_k * d.m * partial_pitch() * 4, alignment);
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmDescription& d = config_.d;
    const GemmArguments arguments = config_.is_transposed ? plan::transposed(launch.arguments) : launch.arguments;
    auto* const workspace = static_cast<std::byte*>(launch.workspace);
    const Copies copies = copies_for(arguments);
    const Source a = source_of(arguments.a, d.a, d.m, true, copies.a ? workspace : nullptr);
    const Source b = source_of(arguments.b, plan::transposed(d.b), d.n, false,
                               copies.b ? workspace + (copies.a ? a_bytes_ : 0) : nullptr);
    if (Status s = lay_out(copies, arguments, a, b, launch.stream); !s.ok()) return s;
    auto* const partial = workspace + (copies.a ? a_bytes_ : 0) + (copies.b ? b_bytes_ : 0);

    const Output<Accumulator> out = output(arguments);
    Parameters<Accumulator> p = parameters(config_.split_k > 1 ? partial_output(partial) : out);
    const int shares_of_b = streams_a(config_.tile) ? 1 : config_.cluster.rows;
    p.reach = {.rows = loaded(a.major, d.m, config_.tile.m, config_.cluster.columns),
               .columns = loaded(b.major, d.n, config_.tile.n, shares_of_b),
               .last_row = last_tile(p.out, d.m, config_.tile.m),
               .last_column = last_tile(p.out, d.n, config_.tile.n)};
    if (Status s = map_operand(p.a, a, {d.m, d.k, plan::distinct_matrices(d.a, d.batch_count)}, config_, config_.tile.m,
                               config_.cluster.columns);
        !s.ok())
      return s;
    if (Status s = map_operand(p.b, b, {d.n, d.k, plan::distinct_matrices(d.b, d.batch_count)}, config_, config_.tile.n,
                               shares_of_b);
        !s.ok())
      return s;
    if (Status s = map_output(p); !s.ok()) return s;
    if (Status s = enqueue_tiles<In>(p, config_.tile, a.major, b.major, ctas_of(p), launch.stream); !s.ok()) return s;
    if (config_.split_k == 1) return {};
    return check(enqueue_splitk_reduce(reinterpret_cast<const Accumulator*>(partial), partial_pitch(),
                                       static_cast<int>(config_.split_k), d.batch_count, out, launch.stream),
                 "launch", kernel_);
  }

  [[nodiscard]] std::string blocking() const override {
    return to_string(configuration_of(config_)) + " BK=" + std::to_string(128 / sizeof(In)) +
           (config_.split_k > 1 ? " slices=" + std::to_string(config_.split_k) : "");
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return a_bytes_ + b_bytes_ + partial_bytes_; }
  [[nodiscard]] std::int64_t workspace_bytes_for(const GemmArguments& arguments) const override {
    const Copies copies = copies_for(config_.is_transposed ? plan::transposed(arguments) : arguments);
    return (copies.a ? a_bytes_ : 0) + (copies.b ? b_bytes_ : 0) + partial_bytes_;
  }
  [[nodiscard]] double model_bytes() const override {
    // Each cluster reads its rows of A and its columns of B.
    const GemmDescription& d = config_.d;
    const double m = static_cast<double>(d.m), n = static_cast<double>(d.n), k = static_cast<double>(d.k);
    const double tiles_down = m / (config_.tile.m * config_.cluster.rows);
    const double tiles_across = n / (config_.tile.n * config_.cluster.columns);
    return static_cast<double>(d.batch_count) *
           (static_cast<double>(sizeof(In)) * (m * k * tiles_across + n * k * tiles_down) +
            static_cast<double>(size_in_bytes(d.types.output)) * m * n);
  }

 private:
  struct Copies {
    bool a;
    bool b;
  };

  /// Which operands must be laid out anew, now that their addresses are known.
  [[nodiscard]] Copies copies_for(const GemmArguments& arguments) const {
    const GemmDescription& d = config_.d;
    const auto needs_copy = [&](const void* data, const OperandLayout& layout, bool is_a) {
      const OperandMajor major = operand_major_of(layout, d.types.input, config_.is_converted());
      return !is_aligned(data) ||
             !(major == OperandMajor::k || (major == OperandMajor::mn && takes_mn_major(is_a, config_.tile)));
    };
    return {needs_copy(arguments.a, d.a, true), needs_copy(arguments.b, plan::transposed(d.b), false)};
  }

  /// `copy`: where the operand is laid out anew, or null.
  [[nodiscard]] Source source_of(const void* data, const OperandLayout& layout, std::int64_t count, bool is_a,
                                 void* copy) const {
    const GemmDescription& d = config_.d;
    if (copy == nullptr) {
      const bool k_major = layout.column_stride == 1;
      return {data, k_major ? Major::k : Major::mn, k_major ? layout.row_stride : layout.column_stride,
              layout.batch_stride};
    }
    const bool mn_major = sizeof(In) == 2 && !config_.is_converted() && layout.row_stride == 1 &&
                          layout.column_stride != 1 && takes_mn_major(is_a, config_.tile);
    const std::int64_t pitch = relayout_pitch(mn_major ? count : d.k, sizeof(In));
    return {copy, mn_major ? Major::mn : Major::k, pitch, (mn_major ? d.k : count) * pitch};
  }

  /// Enqueues the copies that are needed.
  [[nodiscard]] Status lay_out(const Copies& copies, const GemmArguments& arguments, const Source& a, const Source& b,
                               cudaStream_t stream) const {
    const GemmDescription& d = config_.d;
    const auto move = [&](const void* data, const OperandLayout& layout, std::int64_t count, const Source& to) {
      return Relayout{.from = {.data = data,
                               .layout = layout,
                               .mn = count,
                               .k = d.k,
                               .batches = plan::distinct_matrices(layout, d.batch_count)},
                      .mn_major = to.major == Major::mn,
                      .to = const_cast<void*>(to.data)};
    };
    Relayout moves[2];
    std::size_t count = 0;
    if (copies.a) moves[count++] = move(arguments.a, d.a, d.m, a);
    if (copies.b) moves[count++] = move(arguments.b, plan::transposed(d.b), d.n, b);
    return check(enqueue_relayout(d.types.input, config_.multiplied, {moves, count}, stream), "launch of a copy",
                 kernel_);
  }

  [[nodiscard]] Status map_output(Parameters<Accumulator>& p) const {
    const bool by_columns = p.out.store_by == StoreBy::columns;
    if (p.out.store_by != StoreBy::boxes && !by_columns) return {};
    const std::int64_t size = size_in_bytes(p.out.type);
    const OperandLayout& c = p.out.layout;
    const std::int64_t mn = by_columns ? p.out.columns : p.out.rows;
    const std::int64_t pitch = by_columns ? c.column_stride : c.row_stride;
    return make_tensor_map(p.c, {.type = map_type(p.out.type),
                                 .data = p.out.data,
                                 .columns = by_columns ? p.out.rows : p.out.columns,
                                 .rows = mn,
                                 .batches = p.scheduler.batches,
                                 .row_bytes = pitch * size,
                                 .batch_bytes = (p.scheduler.batches == 1 ? pitch * mn : c.batch_stride) * size,
                                 .box_columns = static_cast<int>(128 / size),
                                 .box_rows = by_columns ? columns_of_box(config_.stored_columns()) : warp_rows});
  }

  [[nodiscard]] Output<Accumulator> output(const GemmArguments& arguments) const {
    Output<Accumulator> out = output_of<Accumulator>(config_.d, arguments, config_.is_transposed);
    out.store_by = store_by(config_, arguments);
    out.is_aligned = has_aligned_rows(config_.d, arguments);
    return out;
  }
  [[nodiscard]] Output<Accumulator> partial_output(void* partial) const {
    const GemmDescription& d = config_.d;
    return {.data = partial,
            .layout = {.row_stride = partial_pitch(), .column_stride = 1, .batch_stride = d.m * partial_pitch()},
            .rows = static_cast<int>(d.m),
            .columns = static_cast<int>(d.n),
            .type = std::is_integral_v<Accumulator> ? ElementType::i32 : ElementType::f32,
            // The pitch is padded: what is stored beyond n is nobody's.
            .store_by = stores_boxes(config_.tile.n, 4) ? StoreBy::boxes : StoreBy::rows,
            .is_aligned = d.n % 4 == 0,
            .alpha = Accumulator(1),
            .beta = Accumulator(0),
            .reads_c = false,
            .is_plain = true,
            .row_scales = nullptr,
            .column_scales = nullptr,
            .is_transposed = false,
            .bias_kind = Bias::none,
            .activation = Activation::none,
            .bias = nullptr};
  }
  [[nodiscard]] std::int64_t partial_pitch() const { return core::round_up(config_.d.n, 4); }

  [[nodiscard]] Parameters<Accumulator> parameters(const Output<Accumulator>& out) const {
    const GemmDescription& d = config_.d;
    constexpr std::int64_t block_k = 128 / sizeof(In);
    const auto tiles = [](std::int64_t size, int tile) { return static_cast<int>((size + tile - 1) / tile); };
    const int blocks = tiles(d.k, block_k);
    const int cluster_rows = config_.tile.m * config_.cluster.rows;
    return {.a = {},
            .b = {},
            .c = {},
            .scheduler = TileScheduler(tiles(d.m, cluster_rows), tiles(d.n, config_.tile.n * config_.cluster.columns),
                                       static_cast<int>(d.batch_count * config_.split_k), 2048 / cluster_rows),
            .cluster = config_.cluster,
            // No more than there are blocks: each takes a while to make ready.
            .stages = std::min(stages_for(config_.tile, config_.ctas_per_sm), std::max(blocks, 4)),
            .split_k = static_cast<int>(config_.split_k),
            .by_split_k = Divisor(static_cast<int>(config_.split_k)),
            .blocks_per_slice = static_cast<int>(config_.blocks_per_slice),
            .blocks = blocks,
            .reach = {},
            .a_is_shared = plan::distinct_matrices(d.a, d.batch_count) == 1,
            .b_is_shared = plan::distinct_matrices(d.b, d.batch_count) == 1,
            .out = out};
  }

  /// Where the last tile along M or N begins, rows of C at whole words of 16 bytes. What two tiles have in common they
  /// both store, with the same bits; not so where C is read.
  [[nodiscard]] static int last_tile(const Output<Accumulator>& out, std::int64_t mn, int tile_mn) {
    constexpr int word = 8;
    if (out.reads_c) return std::numeric_limits<int>::max();
    return static_cast<int>(core::round_up(std::max<std::int64_t>(mn - tile_mn, 0), word));
  }

  /// The grid: what the device holds at a time, if there are as many tiles. Where a cluster divides K it has one tile.
  [[nodiscard]] int ctas_of(const Parameters<Accumulator>& p) const {
    const int size = config_.cluster.size();
    if (config_.cluster.k > 1) return p.scheduler.count() * size;
    const int resident = std::min(p.scheduler.count(), resident_clusters(config_, device_));
    const int waves = (p.scheduler.count() + resident - 1) / resident;
    const int even = (p.scheduler.count() + waves - 1) / waves;
    // The same number of tiles each: those that stream do not take from the last ones what memory delivers. Others, of
    // long sums, stay in step with those that read the same rows and columns, so that L2 has these.
    const bool stays_in_step = config_.ctas_per_sm == 1 && p.blocks > p.stages && 16 * even >= 15 * resident;
    return (streams_a(config_.tile) || stays_in_step ? even : resident) * size;
  }

  LaunchConfig config_;
  const Device& device_;
  std::int64_t a_bytes_ = 0;
  std::int64_t b_bytes_ = 0;
  std::int64_t partial_bytes_ = 0;
};

}  // namespace

template <class In>
std::unique_ptr<DeviceProduct> make_product(const LaunchConfig& layout, const Device& device) {
  return std::make_unique<Product<In>>(layout, device);
}

template std::unique_ptr<DeviceProduct> make_product<__half>(const LaunchConfig&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<__nv_bfloat16>(const LaunchConfig&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<std::int8_t>(const LaunchConfig&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<float>(const LaunchConfig&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<__nv_fp8_e4m3>(const LaunchConfig&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<__nv_fp8_e5m2>(const LaunchConfig&, const Device&);

std::string_view refuses(const plan::Problem& problem, ElementType multiplied, const Device& device) {
  const GemmDescription& d = problem.description;
  if (problem.accuracy != Accuracy::reduced) {
    if (multiplied == ElementType::f32) return "cuts f32 to tf32; competes only where accuracy = reduced is asked for";
    if (needs_promotion(multiplied))
      return "keeps 13 bits of a sum; competes only where accuracy = reduced is asked for";
  }
  constexpr std::int64_t most = 1 << 30;
  if (d.m > most || d.n > most || d.k > most || d.batch_count > most) return "needs sizes of at most 2^30";
  return why_impossible(d, multiplied, {}, device);
}

}  // namespace exactile::cuda::sm90::native
