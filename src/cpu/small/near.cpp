// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/near.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cpu/caches.hpp"
#include "cpu/loops/a_block.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/model/team.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

/// How the packed operands of a product lie.
template <class K>
struct Room {
  std::int64_t lanes;     ///< of a row of A or a column of B
  std::int64_t a_stride;  ///< from row to row of A where rows are copied; a line further than it takes
  std::int64_t a;         ///< lanes of a row tile of A
  std::int64_t b;         ///< and of all of B

  Room(const Orientation& o, const MicroKernels<K>& kernels)
      : lanes(lanes_of<K>(o.k)),
        a_stride(core::round_up(lanes, line) + line),
        a(core::round_up(std::min<std::int64_t>(o.m, kernels.rows) * a_stride, line)),
        b(core::round_up(o.n, std::int64_t{kernels.lanes}) * packed_lanes<K>(o.k)) {}
  [[nodiscard]] std::int64_t bytes() const { return (a + b) * static_cast<std::int64_t>(sizeof(Lane<K>)); }

 private:
  static constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(Lane<K>));
};

template <class K>
class Near final : public Product<K> {
 public:
  Near(const plan::Problem& problem, const MicroKernels<K>& kernels)
      : Base(problem, kernels, preferred_orientation(problem.description)),
        room_(o_, kernels),
        in_place_(in_tile_registers<K> && reads_rows_of_a<K>(o_)),
        order_(in_place_ || (kernels.copy_a != nullptr && (o_.a.column_stride == 1 || o_.k == 1)) ? AOrder::rows
                                                                                                  : AOrder::columns),
        width_(std::int64_t{kernels.vectors} * kernels.lanes),
        tiles_(core::ceil_divide(o_.m, std::int64_t{kernels.rows})) {
    const auto m = static_cast<double>(o_.m);
    const auto n = static_cast<double>(o_.n);
    const auto k = static_cast<double>(o_.k);
    const std::int64_t products = problem.description.batch_count;
    threads_ = members(products, problem.threads);
    this->blocking_ = fmt::format("MR={} NR={}", kernels.rows, width_);
    this->model_bytes_ = static_cast<double>(products) * (static_cast<double>(sizeof(Input<K>)) * (m * k + k * n) +
                                                          static_cast<double>(sizeof(Sum<K>)) * m * n);
  }

  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return threads_ * room_.bytes(); }

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    auto* const scratch = static_cast<Lane<K>*>(thread_scratch(workspace_bytes()));
    if (scratch == nullptr)
      return {StatusCode::out_of_memory, fmt::format("no memory for packing: {} bytes", workspace_bytes())};
    const std::int64_t products = this->description_.batch_count;
    if (threads_ == 1)
      run_products(arguments, {0, products}, scratch);
    else
      run_team(threads_, [&](const Member& member) {
        run_products(arguments, part_of(products, member.count, member.id), scratch + member.id * (room_.a + room_.b));
      });
    this->finish(arguments);
    return {};
  }

 private:
  using Base = Product<K>;
  using Base::kernels_;
  using Base::o_;

  void run_products(const GemmArguments& arguments, Range products, Lane<K>* room) const {
    for (std::int64_t p = products.begin; p < products.end; ++p) {
      const Operands<K> data = this->operands(arguments, p);
      // A row too few for a whole panel gets one as wide as its vectors.
      const std::int64_t whole = o_.n / width_ * width_;
      Lane<K>* const packed_b = room + room_.a;
      if (whole > 0) kernels_.pack_b(data.b, o_.b.column_stride, o_.b.row_stride, whole, width_, o_.k, packed_b);
      if (whole < o_.n)
        kernels_.pack_b(data.b + whole * o_.b.column_stride, o_.b.column_stride, o_.b.row_stride, o_.n - whole,
                        core::round_up(o_.n - whole, kernels_.lanes), o_.k, packed_b + whole * packed_lanes<K>(o_.k));
      const Parts rows(o_.m, tiles_);
      for (std::int64_t t = 0; t < tiles_; ++t) multiply_rows(data, rows.part(t), room, packed_b);
    }
    release_registers<K>();
  }

  void multiply_rows(const Operands<K>& data, Range rows, Lane<K>* packed_a, const Lane<K>* packed_b) const {
    const std::int64_t height = rows.end - rows.begin;
    const Input<K>* const a = data.a + rows.begin * o_.a.row_stride;
    const Lane<K>* tile = packed_a;
    std::int64_t a_stride = order_ == AOrder::rows ? room_.a_stride : height;
    std::int32_t least_of_a = 0;
    if (in_place_) {
      tile = reinterpret_cast<const Lane<K>*>(a);
      a_stride = o_.a.row_stride / Elements<K>::group;
      if (kernels_.least_of_a != nullptr) least_of_a = kernels_.least_of_a(a, height, o_.a.row_stride, o_.k);
    } else if (order_ == AOrder::rows) {
      for (std::int64_t i = 0; i < height; ++i)
        kernels_.copy_a(a + i * o_.a.row_stride, o_.k, packed_a + i * room_.a_stride);
    } else {
      kernels_.pack_a(a, o_.a.row_stride, o_.a.column_stride, height, height, o_.k, packed_a);
    }
    for (std::int64_t j = 0; j < o_.n; j += width_) {
      const std::int64_t columns = std::min(width_, o_.n - j);
      const int vectors = static_cast<int>(core::ceil_divide(columns, kernels_.lanes));
      const std::int64_t last_lanes = columns - (vectors - 1) * kernels_.lanes;
      const TileShape shape{
          a_stride,  std::int64_t{vectors} * kernels_.lanes, o_.c.row_stride, room_.lanes, last_lanes, false, false,
          least_of_a};
      const auto kernel = kernels_.tile(order_, static_cast<int>(height), vectors, last_lanes != kernels_.lanes);
      kernel(shape, tile, packed_b + j * packed_lanes<K>(o_.k), data.c + rows.begin * o_.c.row_stride + j, data.alpha,
             data.beta);
    }
  }

  Room<K> room_;
  bool in_place_;  ///< A's rows
  AOrder order_;
  std::int64_t width_;  ///< of a panel of B
  std::int64_t tiles_;  ///< of rows
  int threads_ = 1;
};

}  // namespace

template <class K>
std::string_view near_refuses(const plan::Problem& problem, const MicroKernels<K>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  if (problem.description.types.output != element_type_v<Sum<K>>) return "C is narrower than its sums";
  if (!c_is_row_contiguous(o)) return "C has neither unit row stride nor unit column stride";
  if (o.k > chunk_terms<K>) return "K has more terms than are summed in one chain";
  const double l2 = static_cast<double>(caches().l2);
  // As a number that cannot overflow first.
  if (static_cast<double>(o.n) * static_cast<double>(o.k) > l2 ||
      static_cast<double>(Room<K>(o, kernels).bytes()) > l2 / 2)
    return "B does not fit into half of a level-2 cache";
  return {};
}

template <class K>
Demand near_demand(const plan::Problem& problem, const MicroKernels<K>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const auto m = static_cast<double>(o.m);
  const auto n = static_cast<double>(core::round_up(o.n, kernels.lanes));
  const auto k = static_cast<double>(o.k);
  const auto products = static_cast<double>(problem.description.batch_count);
  Demand d;
  d.threads = members(problem.description.batch_count, problem.threads);
  d[Work::near_cycles] =
      unevenness(problem.description.batch_count, d.threads) * products * cycles_of(kernels, m * n * k);
  add_tiles(d, kernels, o.m, o.n, o.k, kernels.vectors, products);
  const auto packed = [&](double bytes, bool by_terms) {
    d[by_terms ? Work::tile_bytes : Work::block_bytes] += products * static_cast<double>(sizeof(Input<K>)) * bytes;
  };
  if (!reads_rows_of_a<K>(o)) packed(m * k, o.a.column_stride == 1);
  packed(n * k, o.b.column_stride == 1);
  d[Work::read_bytes] = products * bytes_once<K>(m, static_cast<double>(o.n), k);
  d[Work::starts] = products / d.threads;
  add_team(d, 1, 0, 0);
  return d;
}

template <class K>
std::unique_ptr<plan::Executable> make_near(const plan::Problem& problem, const MicroKernels<K>& kernels) {
  return std::make_unique<Near<K>>(problem, kernels);
}

#define EXACTILE_NEAR(...)                                                                                      \
  template std::unique_ptr<plan::Executable> make_near(const plan::Problem&, const MicroKernels<__VA_ARGS__>&); \
  template std::string_view near_refuses(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);               \
  template Demand near_demand(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);
EXACTILE_FOR_EACH_PACKED_KIND(EXACTILE_NEAR)

}  // namespace exactile::cpu
