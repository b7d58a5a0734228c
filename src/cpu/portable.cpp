// SPDX-License-Identifier: Apache-2.0
#include "cpu/portable.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/arithmetic.hpp"
#include "core/type_dispatch.hpp"
#include "cpu/isa.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/model/team.hpp"
#include "cpu/order_of_sums.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"
#include "reference/naive.hpp"

namespace exactile::cpu {
namespace {

// A tile of 4 x 8 sums is what sixteen 128-bit registers hold of four-byte elements. The blocks fit in L1 and L2 of any
// processor of the last twenty years; this kernel is for being right everywhere, the others for being at the limit.
constexpr std::int64_t tile_rows = 4;
constexpr std::int64_t tile_columns = 8;
constexpr std::int64_t block_rows = 64;
constexpr std::int64_t block_columns = 128;
constexpr std::int64_t block_terms = 128;

template <class A, class B, class Out>
struct Block {
  using Sum = Accumulator<A, Out>;

  const GemmDescription& d;
  const GemmArguments& arguments;
  const A* a;
  const B* b;
  Out* c;
  Sum* packed_a;  ///< block_rows x block_terms
  Sum* packed_b;  ///< block_terms x block_columns
  Sum* sums;      ///< block_rows x block_columns

  void run(Range rows, Range columns) const {
    std::fill_n(sums, block_rows * block_columns, Sum{});
    for (std::int64_t p = 0; p < d.k; p += block_terms) {
      const Range terms{p, std::min(p + block_terms, d.k)};
      pack(rows, columns, terms);
      for (std::int64_t i = 0; i < rows.end - rows.begin; i += tile_rows)
        for (std::int64_t j = 0; j < columns.end - columns.begin; j += tile_columns)
          add_tile(i, j, terms.end - terms.begin);
    }
    write(rows, columns);
  }

  /// Rows and columns beyond the block are zero in the packed copies; their sums are never written out.
  void pack(Range rows, Range columns, Range terms) const {
    for (std::int64_t p = terms.begin; p < terms.end; ++p) {
      Sum* a_term = packed_a + (p - terms.begin) * block_rows;
      for (std::int64_t i = 0; i < block_rows; ++i)
        a_term[i] =
            rows.begin + i < rows.end
                ? core::conjugate_if(d.a.conjugate,
                                     static_cast<Sum>(a[(rows.begin + i) * d.a.row_stride + p * d.a.column_stride]))
                : Sum{};
      Sum* b_term = packed_b + (p - terms.begin) * block_columns;
      for (std::int64_t j = 0; j < block_columns; ++j)
        b_term[j] =
            columns.begin + j < columns.end
                ? core::conjugate_if(d.b.conjugate,
                                     static_cast<Sum>(b[p * d.b.row_stride + (columns.begin + j) * d.b.column_stride]))
                : Sum{};
    }
  }

  void add_tile(std::int64_t row, std::int64_t column, std::int64_t terms) const {
    Sum tile[tile_rows][tile_columns];
    for (std::int64_t i = 0; i < tile_rows; ++i)
      std::copy_n(sums + (row + i) * block_columns + column, tile_columns, tile[i]);
    for (std::int64_t p = 0; p < terms; ++p) {
      const Sum* a_term = packed_a + p * block_rows + row;
      const Sum* b_term = packed_b + p * block_columns + column;
      for (std::int64_t i = 0; i < tile_rows; ++i)
        for (std::int64_t j = 0; j < tile_columns; ++j)
          tile[i][j] = core::multiply_add(a_term[i], b_term[j], tile[i][j]);
    }
    for (std::int64_t i = 0; i < tile_rows; ++i)
      std::copy_n(tile[i], tile_columns, sums + (row + i) * block_columns + column);
  }

  void write(Range rows, Range columns) const {
    const auto* bias = static_cast<const Out*>(arguments.bias);
    const auto* row_scales = d.row_scales ? static_cast<const Sum*>(arguments.row_scales) : nullptr;
    const auto* column_scales = d.column_scales ? static_cast<const Sum*>(arguments.column_scales) : nullptr;
    const Sum alpha = arguments.alpha.as<Sum>();
    const Sum beta = arguments.beta.as<Sum>();
    const bool reads_c = beta != Sum{};
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = columns.begin; j < columns.end; ++j) {
        Out& element = c[i * d.c.row_stride + j * d.c.column_stride];
        Sum sum = sums[(i - rows.begin) * block_columns + j - columns.begin];
        if (row_scales != nullptr) sum = core::multiply(sum, row_scales[i]);
        if (column_scales != nullptr) sum = core::multiply(sum, column_scales[j]);
        Sum value = core::scaled(alpha, sum);
        if (reads_c) value = core::add_scaled(beta, static_cast<Sum>(element), value);
        if (d.bias != Bias::none) value = core::add(value, static_cast<Sum>(bias[d.bias == Bias::per_row ? i : j]));
        element = static_cast<Out>(core::activate(d.activation, value));
      }
    }
  }
};

class Portable final : public plan::Executable {
 public:
  explicit Portable(const plan::Problem& problem) : d_(problem.description) {
    const double terms = operation_count(d_.types, d_.m, d_.n, d_.k) / 2 * static_cast<double>(d_.batch_count);
    constexpr double terms_per_cycle = 4;  // of a compiler's vectors
    threads_ = useful_threads(terms / terms_per_cycle, blocks(), problem.threads);
  }

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    auto* scratch = static_cast<char*>(thread_scratch(workspace_bytes()));
    if (scratch == nullptr)
      return {StatusCode::out_of_memory, fmt::format("no memory for packing: {} bytes", workspace_bytes())};
    core::with_operand_types(d_.types, [&]<class A, class B, class Out>() {
      run_team(threads_, [&](const Member& member) { run_part<A, B, Out>(arguments, scratch, member); });
    });
    return {};
  }

  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return threads_ * bytes_per_thread(); }
  [[nodiscard]] std::string blocking() const override {
    return fmt::format("MR={} NR={} MC={} KC={} NC={}", tile_rows, tile_columns, block_rows, block_terms,
                       block_columns);
  }
  [[nodiscard]] double model_bytes() const override {
    const auto m = static_cast<double>(d_.m);
    const auto n = static_cast<double>(d_.n);
    const auto k = static_cast<double>(d_.k);
    const auto in = static_cast<double>(size_in_bytes(d_.types.input));
    const double reads = in * (m * k * static_cast<double>(core::ceil_divide(d_.n, block_columns)) +
                               k * n * static_cast<double>(core::ceil_divide(d_.m, block_rows)));
    return (reads + static_cast<double>(size_in_bytes(d_.types.output)) * m * n) * static_cast<double>(d_.batch_count);
  }

 private:
  [[nodiscard]] std::int64_t row_blocks() const { return core::ceil_divide(d_.m, block_rows); }
  [[nodiscard]] std::int64_t column_blocks() const { return core::ceil_divide(d_.n, block_columns); }
  [[nodiscard]] std::int64_t blocks() const { return row_blocks() * column_blocks() * d_.batch_count; }
  [[nodiscard]] std::int64_t bytes_per_thread() const {
    const std::int64_t sums = block_rows * block_terms + block_terms * block_columns + block_rows * block_columns;
    return core::round_up(sums * size_in_bytes(accumulator_type(d_.types)), 4096);
  }

  template <class A, class B, class Out>
  void run_part(const GemmArguments& arguments, char* scratch, const Member& member) const {
    using Sum = Accumulator<A, Out>;
    auto* packed_a = reinterpret_cast<Sum*>(scratch + member.id * bytes_per_thread());
    Sum* packed_b = packed_a + block_rows * block_terms;
    Sum* sums = packed_b + block_terms * block_columns;
    const Range mine = part_of(blocks(), member.count, member.id);
    for (std::int64_t index = mine.begin; index < mine.end; ++index) {
      const std::int64_t product = index / (row_blocks() * column_blocks());
      const std::int64_t row = index / column_blocks() % row_blocks() * block_rows;
      const std::int64_t column = index % column_blocks() * block_columns;
      const Block<A, B, Out> block{
          d_,
          arguments,
          static_cast<const A*>(reference::product_base(arguments.a, d_.a, product, sizeof(A))),
          static_cast<const B*>(reference::product_base(arguments.b, d_.b, product, sizeof(B))),
          static_cast<Out*>(reference::product_base(arguments.c, d_.c, product, sizeof(Out))),
          packed_a,
          packed_b,
          sums};
      block.run({row, std::min(row + block_rows, d_.m)}, {column, std::min(column + block_columns, d_.n)});
    }
  }

  GemmDescription d_;
  int threads_ = 1;
};

/// The kernels of an instruction set share one order of summation; a planner that mixed it with this kernel's would let
/// the bits depend on threads and batch.
std::string_view gives_way(const plan::Problem& p) {
  if (const auto why = gives_way_to_vectors(p); !why.empty()) return why;
  if (widest_isa() != Isa::portable) return "the bits are those of the tuned kernels";
  return {};
}

double cost(const plan::Problem& p) {
  const GemmDescription& d = p.description;
  return 1e-6 + operation_count(d.types, d.m, d.n, d.k) * static_cast<double>(d.batch_count) / 8e9;
}

}  // namespace

plan::KernelEntry portable_entry() {
  return {.name = "portable_blocked",
          .backend = Backend::cpu,
          .role = "engine",
          .summary = "cache blocks and a register tile in plain C++: every type on every processor",
          .types = all_gemm_types(),
          .unavailable = [](int) { return std::string_view(); },
          .refuses = [](const plan::Problem&) { return std::string_view(); },
          .cost = cost,
          .prepare = [](const plan::Problem& p) -> std::unique_ptr<plan::Executable> {
            return std::make_unique<Portable>(p);
          },
          .gives_way = gives_way,
          .conjugates = true,
          .reproducible = true};
}

}  // namespace exactile::cpu
