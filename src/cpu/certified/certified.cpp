// SPDX-License-Identifier: Apache-2.0
#include "cpu/certified/certified.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/checked.hpp"
#include "core/type_dispatch.hpp"
#include "cpu/caches.hpp"
#include "cpu/certified/finish.hpp"
#include "cpu/certified/panels.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/model/team.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"
#include "plan/column_major.hpp"
#include "plan/transposed.hpp"
#include "reference/naive.hpp"

namespace exactile::cpu {
namespace {

/// Of A or of B in panels at once.
constexpr std::int64_t most_packed_bytes = 256 << 20;
/// What is known of a line beside its elements; see Lines.
constexpr std::int64_t line_numbers = 3;
/// Digits of ExactSum hold twice so many products.
constexpr std::int64_t most_terms = std::int64_t{1} << 28;

/// What sizes settle. A complex product is one of twice as many real columns and terms: A's terms are (real,
/// imaginary), B's columns (real, -imaginary) and (imaginary, real).
struct Sizes {
  std::int64_t m;
  std::int64_t n;
  std::int64_t terms;
  std::int64_t block_rows;
  std::int64_t block_columns;
  std::int64_t group;  ///< panels of A that a block's panel of B meets while both are in L2
  int threads;
};

Sizes sizes_of(const GemmDescription& d, const CertifiedKernels& kernels, int threads) {
  constexpr double terms_per_cycle = 8;  // of sums in f64 of narrower inputs; others take longer
  const std::int64_t parts = is_complex(d.types.input) ? 2 : 1;
  const std::int64_t terms = d.k * parts;
  const std::int64_t line_bytes = 8 * (terms + line_numbers);
  const auto block = [&](std::int64_t size, int width) {
    const std::int64_t most = core::round_up(std::max<std::int64_t>(most_packed_bytes / line_bytes, 1), width);
    return std::min(most, core::round_up(size, width));
  };
  const std::int64_t panels = core::ceil_divide(d.m, kernels.rows) * core::ceil_divide(d.n * parts, kernels.columns);
  const double work = static_cast<double>(d.m) * static_cast<double>(d.n * parts) * static_cast<double>(terms);
  return {.m = d.m,
          .n = d.n * parts,
          .terms = terms,
          .block_rows = block(d.m, kernels.rows),
          .block_columns = block(d.n * parts, kernels.columns),
          .group = std::clamp<std::int64_t>(caches().l2 / 2 / (line_bytes * kernels.rows), 1, 8),
          .threads = useful_threads(work / terms_per_cycle, panels, threads)};
}

/// Panels of one operand's lanes, and what is known of the lanes.
struct Packed {
  std::int64_t lanes;
  int width;
  double* panels;
  Lines lines;

  [[nodiscard]] std::int64_t count() const { return core::ceil_divide(lanes, width); }
  [[nodiscard]] Lines lines_from(std::int64_t lane) const {
    return {lines.norms + lane, lines.steps + lane, lines.grains + lane};
  }
};

template <class In, class Out>
class Certified final : public plan::Executable {
 public:
  static constexpr bool complex = core::is_complex_v<In>;
  static constexpr int parts = complex ? 2 : 1;

  Certified(const plan::Problem& problem, const CertifiedKernels& kernels)
      : is_turned_(plan::is_column_major(problem.description)),
        d_(is_turned_ ? plan::transposed(problem.description) : problem.description),
        kernels_(kernels),
        sizes_(sizes_of(d_, kernels, problem.threads)),
        trust_(core::trust_of(sizes_.terms, certified_chunk, kernels.extracts, problem.accuracy)) {}

  [[nodiscard]] Status run(const GemmArguments& given, const Execution&) const override {
    const GemmArguments arguments = is_turned_ ? plan::transposed(given) : given;
    auto* scratch = static_cast<double*>(thread_scratch(workspace_bytes()));
    if (scratch == nullptr)
      return {StatusCode::out_of_memory, fmt::format("no memory for packing: {} bytes", workspace_bytes())};
    for (std::int64_t p = 0; p < d_.batch_count; ++p)
      for (std::int64_t j = 0; j < sizes_.n; j += sizes_.block_columns)
        for (std::int64_t i = 0; i < sizes_.m; i += sizes_.block_rows) run_block(arguments, p, i, j, scratch);
    return {};
  }

  [[nodiscard]] int threads() const override { return sizes_.threads; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return 8 * (packed_elements(sizes_.block_rows) + packed_elements(sizes_.block_columns) +
                sizes_.threads * room_elements());
  }
  [[nodiscard]] std::string blocking() const override {
    return fmt::format("MR={} NR={} MC={} KC={} NC={}", kernels_.rows, kernels_.columns, sizes_.group * kernels_.rows,
                       certified_chunk, kernels_.columns);
  }
  [[nodiscard]] double model_bytes() const override {
    const auto a = static_cast<double>(sizes_.m * sizes_.terms);
    const auto b = static_cast<double>(sizes_.n * sizes_.terms);
    const auto groups = static_cast<double>(core::ceil_divide(sizes_.m, sizes_.group * kernels_.rows));
    const double packing = (a + b) * (8 + static_cast<double>(sizeof(In)) / parts);
    return static_cast<double>(d_.batch_count) *
           (packing + 8 * (a + b * groups) + static_cast<double>(sizeof(Out)) * static_cast<double>(d_.m * d_.n));
  }

 private:
  [[nodiscard]] std::int64_t packed_elements(std::int64_t lanes) const {
    return core::round_up(lanes * (sizes_.terms + line_numbers), 512);
  }
  [[nodiscard]] std::int64_t tile_elements() const { return std::int64_t{kernels_.rows} * kernels_.columns; }
  [[nodiscard]] std::int64_t room_elements() const {
    return core::round_up(sizes_.group * 2 * tile_elements() + most_windows * kernels_.columns, 512);
  }

  [[nodiscard]] Packed packed(std::int64_t lanes, int width, double* memory) const {
    const std::int64_t all = core::round_up(lanes, width);
    double* lines = memory + all * sizes_.terms;
    return {lanes, width, memory, {lines, lines + all, lines + 2 * all}};
  }

  void run_block(const GemmArguments& arguments, std::int64_t product, std::int64_t row, std::int64_t column,
                 double* scratch) const {
    const Packed a = packed(std::min(sizes_.block_rows, sizes_.m - row), kernels_.rows, scratch);
    double* const of_b = scratch + packed_elements(sizes_.block_rows);
    const Packed b = packed(std::min(sizes_.block_columns, sizes_.n - column), kernels_.columns, of_b);
    double* const rooms = of_b + packed_elements(sizes_.block_columns);
    const std::int64_t tasks = core::ceil_divide(a.count(), sizes_.group) * b.count();
    std::atomic<std::int64_t> next = 0;
    run_team(sizes_.threads, [&](const Member& member) {
      pack(arguments, product, row, column, a, b, part_of(a.count() + b.count(), member.count, member.id));
      member.meet();
      double* const mine = rooms + member.id * room_elements();
      for (std::int64_t task = next++; task < tasks; task = next++)
        multiply(arguments, product, row, column, a, b, task, mine);
    });
  }

  void pack(const GemmArguments& arguments, std::int64_t product, std::int64_t row, std::int64_t column,
            const Packed& a, const Packed& b, Range mine) const {
    const auto* a_base = static_cast<const In*>(reference::product_base(arguments.a, d_.a, product, sizeof(In)));
    const auto* b_base = static_cast<const In*>(reference::product_base(arguments.b, d_.b, product, sizeof(In)));
    const LaneSource<In> rows{a_base, d_.a.row_stride, d_.a.column_stride, d_.a.conjugate};
    const LaneSource<In> columns{b_base, d_.b.column_stride, d_.b.row_stride, d_.b.conjugate};
    for (std::int64_t p = mine.begin; p < mine.end; ++p) {
      const bool is_a = p < a.count();
      const Packed& to = is_a ? a : b;
      const std::int64_t first = (is_a ? p : p - a.count()) * to.width;
      const Lines lines = to.lines_from(first);
      std::fill_n(lines.norms, to.width, 0.0);
      std::fill_n(lines.steps, to.width, std::numeric_limits<double>::infinity());
      // A piece is measured while it is in L1.
      for (std::int64_t term = 0; term < sizes_.terms; term += certified_chunk) {
        const std::int64_t terms = std::min(certified_chunk, sizes_.terms - term);
        double* const panel = to.panels + first * sizes_.terms + term * to.width;
        pack_piece(is_a ? rows : columns, (is_a ? row : column) + first,
                   std::min<std::int64_t>(to.width, to.lanes - first), is_a, term, terms, panel);
        if (trust_.certifies) kernels_.measure(panel, terms, !is_a, lines);
      }
      end_lines(lines, to.width);
    }
  }

  void pack_piece(const LaneSource<In>& source, std::int64_t first, std::int64_t lanes, bool is_a, std::int64_t term,
                  std::int64_t terms, double* panel) const {
    const int width = is_a ? kernels_.rows : kernels_.columns;
    LaneSource<In> here = source;
    here.from += term / parts * source.term_stride;
    if constexpr (complex) {
      if (is_a)
        pack_complex_a(here, first, lanes, width, terms, panel);
      else
        pack_complex_b(here, first, lanes, width, terms, panel);
    } else if constexpr (std::is_same_v<In, float>) {
      (is_a ? kernels_.pack_rows : kernels_.pack_columns)(here.from + first * here.lane_stride, here.lane_stride,
                                                          here.term_stride, lanes, terms, panel);
    } else {
      pack_panel(here, first, lanes, width, terms, panel);
    }
  }

  /// From what was measured. With extraction norms are powers of two: of a row's sum of absolute values, of a column's
  /// largest one.
  void end_lines(const Lines& lines, int width) const {
    const double more = 1 + static_cast<double>(sizes_.terms + 2) * 0x1p-51;
    for (int l = 0; l < width; ++l) {
      double& norm = lines.norms[l];
      norm = more * (kernels_.extracts ? norm : std::sqrt(norm));
      if (kernels_.extracts && std::isnormal(norm)) norm = std::ldexp(1.0, std::ilogb(norm) + 1);
      if (kernels_.extracts && norm != 0 && !std::isnormal(norm) && std::isfinite(norm)) norm = 0x1p-1022;
      lines.grains[l] = norm / lines.steps[l];
    }
  }

  void multiply(const GemmArguments& arguments, std::int64_t product, std::int64_t row, std::int64_t column,
                const Packed& a, const Packed& b, std::int64_t task, double* room) const {
    const std::int64_t first = task / b.count() * sizes_.group;
    const std::int64_t group = std::min(sizes_.group, a.count() - first);
    const std::int64_t b_lane = task % b.count() * b.width;
    const double* b_panel = b.panels + b_lane * sizes_.terms;
    std::fill_n(room, 2 * group * tile_elements(), 0.0);
    const auto tile = [&](std::int64_t g) {
      const std::int64_t a_lane = (first + g) * a.width;
      double* sums = room + 2 * g * tile_elements();
      return Tile{.row = row + a_lane,
                  .column = column + b_lane,
                  .a = a.panels + a_lane * sizes_.terms,
                  .b = b_panel,
                  .rows = a.lines_from(a_lane),
                  .columns = b.lines_from(b_lane),
                  .sums = {sums, sums + tile_elements()}};
    };
    for (std::int64_t p = 0; p < sizes_.terms; p += certified_chunk)
      for (std::int64_t g = 0; g < group; ++g) {
        const Tile t = tile(g);
        kernels_.multiply(t.a + p * a.width, t.b + p * b.width, std::min(certified_chunk, sizes_.terms - p),
                          t.rows.norms, t.columns.norms, t.sums);
      }
    const Finish<In, Out> finish(d_, arguments, product, kernels_, trust_, sizes_.terms,
                                 room + 2 * sizes_.group * tile_elements());
    for (std::int64_t g = 0; g < group; ++g) finish.tile(tile(g));
  }

  bool is_turned_;
  GemmDescription d_;
  const CertifiedKernels& kernels_;
  Sizes sizes_;
  core::Trust trust_;
};

}  // namespace

std::unique_ptr<plan::Executable> make_certified(const plan::Problem& problem, const CertifiedKernels& kernels) {
  return core::with_gemm_types(problem.description.types,
                               [&]<class In, class Out>() -> std::unique_ptr<plan::Executable> {
                                 if constexpr (std::is_integral_v<In>)
                                   return nullptr;  // not reached: the entries' types are floating
                                 else
                                   return std::make_unique<Certified<In, Out>>(problem, kernels);
                               });
}

std::string_view certified_refuses(const plan::Problem& problem) {
  if (problem.accuracy != Accuracy::compensated && problem.accuracy != Accuracy::correctly_rounded)
    return "sums for compensated and correctly_rounded only";
  if (problem.description.k > most_terms) return "sums at most 2^28 terms";
  return {};
}

/// Compared with that of another such kernel only.
double certified_cost(const plan::Problem& problem, const CertifiedKernels& kernels) {
  const GemmDescription& d = problem.description;
  const double terms = operation_count(d.types, d.m, d.n, d.k) / 2 * static_cast<double>(d.batch_count);
  constexpr double hertz = 4e9;
  const double lanes = kernels.columns / 2.0;
  return 1e-6 + terms * (kernels.extracts ? 4 : 1) / (2 * lanes * hertz);
}

}  // namespace exactile::cpu
