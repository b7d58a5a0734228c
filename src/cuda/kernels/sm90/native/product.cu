// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/native/product.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/sm90/native/reduce.hpp"
#include "cuda/kernels/sm90/native/relayout.hpp"
#include "cuda/kernels/sm90/tensor_map.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90::native {
namespace {

constexpr std::int64_t alignment = 1024;

[[nodiscard]] CUtensorMapDataType map_type(ElementType type) {
  switch (type) {
    case ElementType::f8e4m3:
    case ElementType::f8e5m2:
    case ElementType::i8: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case ElementType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ElementType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ElementType::i32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
}

[[nodiscard]] bool is_aligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }

/// An operand as TMA reads it: in place, or its copy in the workspace.
struct Source {
  const void* data;
  Major major;
  std::int64_t pitch;        ///< elements from line to line (along K) or from k to k
  std::int64_t batch_pitch;  ///< elements from matrix to matrix
};

/// Whether the contiguous lines of C, that long and so far apart, begin and end at multiples of 16 bytes: TMA cuts a
/// box off there.
[[nodiscard]] bool has_aligned_lines(const GemmDescription& d, std::int64_t length, std::int64_t pitch,
                                     const GemmArguments& arguments) {
  const std::int64_t size = size_in_bytes(d.types.output);
  constexpr std::int64_t most_pitch = std::int64_t{1} << 36;  // TMA takes less than 2^40 bytes
  return !d.c.pointer_array && length * size % 16 == 0 && pitch * size % 16 == 0 && pitch > 0 && pitch < most_pitch &&
         d.c.batch_stride * size % 16 == 0 && is_aligned(arguments.c);
}
[[nodiscard]] bool has_aligned_rows(const GemmDescription& d, const GemmArguments& arguments) {
  return d.c.column_stride == 1 && has_aligned_lines(d, d.n, d.c.row_stride, arguments);
}
[[nodiscard]] bool has_aligned_columns(const GemmDescription& d, const GemmArguments& arguments) {
  return d.c.row_stride == 1 && has_aligned_lines(d, d.m, d.c.column_stride, arguments);
}

[[nodiscard]] StoreBy store_by(const Layout& layout, const GemmArguments& arguments) {
  const GemmDescription& d = layout.d;
  if (!arguments.beta.is_zero() || d.bias != Bias::none || d.activation != Activation::none) return StoreBy::elements;
  if (has_aligned_columns(d, arguments) && d.c.column_stride != 1) return StoreBy::columns;
  if (d.c.column_stride != 1) return StoreBy::elements;
  return has_aligned_rows(d, arguments) && stores_boxes(layout.stored_columns(), size_in_bytes(d.types.output))
             ? StoreBy::boxes
             : StoreBy::rows;
}

template <class In>
class Product final : public DeviceProduct {
 public:
  using Sum = DeviceSum<In>;
  static constexpr std::string_view kernel_ = family_name(multiplied_type<In>);

  Product(const Layout& layout, const Device& device) : layout_(layout), device_(device) {
    const GemmDescription& d = layout_.d;
    const auto copy = [&](std::int64_t lines, const OperandLayout& operand) {
      constexpr std::int64_t size = sizeof(In);
      const std::int64_t matrix = std::max(lines * relayout_pitch(d.k, size), d.k * relayout_pitch(lines, size)) * size;
      return core::round_up(plan::distinct_matrices(operand, d.batch_count) * matrix, alignment);
    };
    a_bytes_ = copy(d.m, d.a);
    b_bytes_ = copy(d.n, d.b);
    if (layout_.chunks > 1)
      partial_bytes_ = core::round_up(d.batch_count * layout_.chunks * d.m * partial_pitch() * 4, alignment);
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmDescription& d = layout_.d;
    const GemmArguments arguments = layout_.is_transposed ? plan::transposed(launch.arguments) : launch.arguments;
    auto* const workspace = static_cast<std::byte*>(launch.workspace);
    const Copies copies = copies_for(arguments);
    const Source a = source_of(arguments.a, d.a, d.m, true, copies.a ? workspace : nullptr);
    const Source b = source_of(arguments.b, plan::transposed(d.b), d.n, false,
                               copies.b ? workspace + (copies.a ? a_bytes_ : 0) : nullptr);
    if (Status s = lay_out(copies, arguments, a, b, launch.stream); !s.ok()) return s;
    auto* const partial = workspace + (copies.a ? a_bytes_ : 0) + (copies.b ? b_bytes_ : 0);

    const Output<Sum> out = output(arguments);
    Parameters<Sum> p = parameters(layout_.chunks > 1 ? partial_output(partial) : out);
    if (Status s = map_operand(p.a, a, d.m, plan::distinct_matrices(d.a, d.batch_count), layout_.tile.m,
                               layout_.cluster.columns);
        !s.ok())
      return s;
    const int shares_of_b = streams_a(layout_.tile) ? 1 : layout_.cluster.rows;
    if (Status s = map_operand(p.b, b, d.n, plan::distinct_matrices(d.b, d.batch_count), layout_.tile.n, shares_of_b);
        !s.ok())
      return s;
    if (Status s = map_output(p); !s.ok()) return s;
    if (Status s = enqueue_tiles<In>(p, layout_.tile, a.major, b.major, ctas_of(p), launch.stream); !s.ok()) return s;
    if (layout_.chunks == 1) return {};
    return check(enqueue_reduce(reinterpret_cast<const Sum*>(partial), partial_pitch(),
                                static_cast<int>(layout_.chunks), d.batch_count, out, launch.stream),
                 "launch", kernel_);
  }

  [[nodiscard]] std::string blocking() const override {
    return to_string(configuration_of(layout_)) + " BK=" + std::to_string(128 / sizeof(In)) +
           (layout_.chunks > 1 ? " slices=" + std::to_string(layout_.chunks) : "");
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return a_bytes_ + b_bytes_ + partial_bytes_; }
  [[nodiscard]] std::int64_t workspace_bytes_for(const GemmArguments& arguments) const override {
    const Copies copies = copies_for(layout_.is_transposed ? plan::transposed(arguments) : arguments);
    return (copies.a ? a_bytes_ : 0) + (copies.b ? b_bytes_ : 0) + partial_bytes_;
  }
  [[nodiscard]] double model_bytes() const override {
    // Each cluster reads its rows of A and its columns of B.
    const GemmDescription& d = layout_.d;
    const double m = static_cast<double>(d.m), n = static_cast<double>(d.n), k = static_cast<double>(d.k);
    const double tiles_down = m / (layout_.tile.m * layout_.cluster.rows);
    const double tiles_across = n / (layout_.tile.n * layout_.cluster.columns);
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
    const GemmDescription& d = layout_.d;
    const auto needs_copy = [&](const void* data, const OperandLayout& lines, bool is_a) {
      const Reach reach = reach_of(lines, d.types.input, layout_.is_converted());
      return !is_aligned(data) ||
             !(reach == Reach::along_k || (reach == Reach::along_lines && takes_along_lines(is_a, layout_.tile)));
    };
    return {needs_copy(arguments.a, d.a, true), needs_copy(arguments.b, plan::transposed(d.b), false)};
  }

  /// `copy`: where the operand is laid out anew, or null.
  [[nodiscard]] Source source_of(const void* data, const OperandLayout& lines, std::int64_t count, bool is_a,
                                 void* copy) const {
    const GemmDescription& d = layout_.d;
    if (copy == nullptr) {
      const bool along_k = lines.column_stride == 1;
      return {data, along_k ? Major::k : Major::mn, along_k ? lines.row_stride : lines.column_stride,
              lines.batch_stride};
    }
    const bool along_lines = sizeof(In) == 2 && !layout_.is_converted() && lines.row_stride == 1 &&
                             lines.column_stride != 1 && takes_along_lines(is_a, layout_.tile);
    const std::int64_t pitch = relayout_pitch(along_lines ? count : d.k, sizeof(In));
    return {copy, along_lines ? Major::mn : Major::k, pitch, (along_lines ? d.k : count) * pitch};
  }

  /// Enqueues the copies that are needed.
  [[nodiscard]] Status lay_out(const Copies& copies, const GemmArguments& arguments, const Source& a, const Source& b,
                               cudaStream_t stream) const {
    const GemmDescription& d = layout_.d;
    const auto move = [&](const void* data, const OperandLayout& lines, std::int64_t count, const Source& to) {
      return Relayout{.from = {.data = data,
                               .layout = lines,
                               .lines = count,
                               .k = d.k,
                               .batches = plan::distinct_matrices(lines, d.batch_count)},
                      .along_lines = to.major == Major::mn,
                      .to = const_cast<void*>(to.data)};
    };
    Relayout moves[2];
    std::size_t count = 0;
    if (copies.a) moves[count++] = move(arguments.a, d.a, d.m, a);
    if (copies.b) moves[count++] = move(arguments.b, plan::transposed(d.b), d.n, b);
    return check(enqueue_relayout(d.types.input, layout_.multiplied, {moves, count}, stream), "launch of a copy",
                 kernel_);
  }

  /// `shares`: CTAs that load a tile's lines together: each some of them, or some of their k.
  [[nodiscard]] Status map_operand(CUtensorMap& map, const Source& source, std::int64_t lines, std::int64_t batches,
                                   int tile_lines, int shares) const {
    constexpr std::int64_t size = sizeof(In);
    const bool along_k = source.major == Major::k;
    const std::int64_t matrix = source.pitch * (along_k ? lines : layout_.d.k);
    const int box_k = shares_boxes(tile_lines, shares) ? 64 : 64 / shares;
    return make_tensor_map(map, {.type = map_type(layout_.multiplied),
                                 .data = const_cast<void*>(source.data),
                                 .columns = along_k ? layout_.d.k : lines,
                                 .rows = along_k ? lines : layout_.d.k,
                                 .batches = batches,
                                 .row_bytes = source.pitch * size,
                                 .batch_bytes = (batches == 1 ? matrix : source.batch_pitch) * size,
                                 .box_columns = 128 / static_cast<int>(size),
                                 .box_rows = along_k ? tile_lines / shares : box_k,
                                 // Of 256 bytes other CTAs take a half, which costs 8 % of the bandwidth; so do rows
                                 // that straddle lines.
                                 .promotion = streams_a(layout_.tile) || source.pitch * size % 128 != 0
                                                  ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
                                                  : CU_TENSOR_MAP_L2_PROMOTION_L2_256B});
  }

  [[nodiscard]] Status map_output(Parameters<Sum>& p) const {
    const bool by_columns = p.out.store_by == StoreBy::columns;
    if (p.out.store_by != StoreBy::boxes && !by_columns) return {};
    const std::int64_t size = size_in_bytes(p.out.type);
    const OperandLayout& c = p.out.layout;
    const std::int64_t lines = by_columns ? p.out.columns : p.out.rows;
    const std::int64_t pitch = by_columns ? c.column_stride : c.row_stride;
    return make_tensor_map(p.c, {.type = map_type(p.out.type),
                                 .data = p.out.data,
                                 .columns = by_columns ? p.out.rows : p.out.columns,
                                 .rows = lines,
                                 .batches = p.order.batches,
                                 .row_bytes = pitch * size,
                                 .batch_bytes = (p.order.batches == 1 ? pitch * lines : c.batch_stride) * size,
                                 .box_columns = static_cast<int>(128 / size),
                                 .box_rows = by_columns ? columns_of_box(layout_.stored_columns()) : warp_rows});
  }

  [[nodiscard]] Output<Sum> output(const GemmArguments& arguments) const {
    Output<Sum> out = output_of<Sum>(layout_.d, arguments, layout_.is_transposed);
    out.store_by = store_by(layout_, arguments);
    out.is_aligned = has_aligned_rows(layout_.d, arguments);
    return out;
  }
  [[nodiscard]] Output<Sum> partial_output(void* partial) const {
    const GemmDescription& d = layout_.d;
    return {.data = partial,
            .layout = {.row_stride = partial_pitch(), .column_stride = 1, .batch_stride = d.m * partial_pitch()},
            .rows = static_cast<int>(d.m),
            .columns = static_cast<int>(d.n),
            .type = std::is_integral_v<Sum> ? ElementType::i32 : ElementType::f32,
            // The pitch is padded: what is stored beyond n is nobody's.
            .store_by = stores_boxes(layout_.tile.n, 4) ? StoreBy::boxes : StoreBy::rows,
            .is_aligned = d.n % 4 == 0,
            .alpha = Sum(1),
            .beta = Sum(0),
            .reads_c = false,
            .is_plain = true,
            .row_scales = nullptr,
            .column_scales = nullptr,
            .is_transposed = false,
            .bias_kind = Bias::none,
            .activation = Activation::none,
            .bias = nullptr};
  }
  [[nodiscard]] std::int64_t partial_pitch() const { return core::round_up(layout_.d.n, 4); }

  [[nodiscard]] Parameters<Sum> parameters(const Output<Sum>& out) const {
    const GemmDescription& d = layout_.d;
    constexpr std::int64_t block_k = 128 / sizeof(In);
    const auto tiles = [](std::int64_t size, int tile) { return static_cast<int>((size + tile - 1) / tile); };
    const int blocks = tiles(d.k, block_k);
    const int cluster_rows = layout_.tile.m * layout_.cluster.rows;
    return {.a = {},
            .b = {},
            .c = {},
            .order = StripOrder(tiles(d.m, cluster_rows), tiles(d.n, layout_.tile.n * layout_.cluster.columns),
                                static_cast<int>(d.batch_count * layout_.chunks), 2048 / cluster_rows),
            .cluster = layout_.cluster,
            // No more than there are blocks: each takes a while to make ready.
            .stages = std::min(stages_for(layout_.tile, layout_.residents), std::max(blocks, 4)),
            .chunks = static_cast<int>(layout_.chunks),
            .by_chunks = Divisor(static_cast<int>(layout_.chunks)),
            .chunk_blocks = static_cast<int>(layout_.chunk_blocks),
            .blocks = blocks,
            .a_is_shared = plan::distinct_matrices(d.a, d.batch_count) == 1,
            .b_is_shared = plan::distinct_matrices(d.b, d.batch_count) == 1,
            .out = out};
  }

  /// The grid: what the device holds at a time, if there are as many tiles. With parts, a cluster has one tile.
  [[nodiscard]] int ctas_of(const Parameters<Sum>& p) const {
    const int size = layout_.cluster.size();
    if (layout_.cluster.depth > 1) return p.order.count() * size;
    const int resident = std::min(p.order.count(), resident_clusters(layout_, device_));
    const int waves = (p.order.count() + resident - 1) / resident;
    const int even = (p.order.count() + waves - 1) / waves;
    // The same number of tiles each: those that stream do not take from the last ones what memory delivers. Others, of
    // long sums, stay in step with those that read the same rows and columns, so that L2 has these.
    const bool stays_in_step = layout_.residents == 1 && p.blocks > p.stages && 16 * even >= 15 * resident;
    return (streams_a(layout_.tile) || stays_in_step ? even : resident) * size;
  }

  Layout layout_;
  const Device& device_;
  std::int64_t a_bytes_ = 0;
  std::int64_t b_bytes_ = 0;
  std::int64_t partial_bytes_ = 0;
};

}  // namespace

template <class In>
std::unique_ptr<DeviceProduct> make_product(const Layout& layout, const Device& device) {
  return std::make_unique<Product<In>>(layout, device);
}

template std::unique_ptr<DeviceProduct> make_product<__half>(const Layout&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<__nv_bfloat16>(const Layout&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<std::int8_t>(const Layout&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<float>(const Layout&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<__nv_fp8_e4m3>(const Layout&, const Device&);
template std::unique_ptr<DeviceProduct> make_product<__nv_fp8_e5m2>(const Layout&, const Device&);

std::string_view refuses(const plan::Problem& problem, ElementType multiplied, const Device& device) {
  const GemmDescription& d = problem.description;
  if (problem.accuracy != Accuracy::reduced) {
    if (multiplied == ElementType::f32) return "cuts f32 to tf32; competes only where accuracy = reduced is asked for";
    if (has_short_sums(multiplied))
      return "keeps 13 bits of a sum; competes only where accuracy = reduced is asked for";
  }
  constexpr std::int64_t most = 1 << 30;
  if (d.m > most || d.n > most || d.k > most || d.batch_count > most) return "needs sizes of at most 2^30";
  return why_impossible(d, multiplied, {}, device);
}

}  // namespace exactile::cuda::sm90::native
