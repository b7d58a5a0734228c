// SPDX-License-Identifier: Apache-2.0
/// \file From a tile's sums to elements of C.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/arithmetic.hpp"
#include "core/exact_sum.hpp"
#include "core/trust.hpp"
#include "cpu/certified/kernels.hpp"
#include "cpu/certified/settle.hpp"
#include "exactile/plan.hpp"
#include "reference/naive.hpp"

namespace exactile::cpu {

/// A tile whose sums are there.
struct Tile {
  std::int64_t row;     ///< of C
  std::int64_t column;  ///< of C's real columns
  const double* a;      ///< panels
  const double* b;
  Lines rows;
  Lines columns;
  Sums sums;
};

template <class In, class Out>
class Finish {
 public:
  using Part = typename PartOf<Out>::type;
  using Factor = Accumulator<In>;
  static constexpr bool complex = core::is_complex_v<In>;
  static constexpr int parts = complex ? 2 : 1;

  Finish(const GemmDescription& d, const GemmArguments& arguments, std::int64_t product,
         const CertifiedKernels& kernels, const core::Trust& trust, std::int64_t terms, double* refined)
      : d_(d),
        kernels_(kernels),
        trust_(trust),
        terms_(terms),
        refined_(refined),
        c_(static_cast<Part*>(reference::product_base(arguments.c, d.c, product, sizeof(Out)))),
        bias_(d.bias == Bias::none ? nullptr : static_cast<const Part*>(arguments.bias)),
        alpha_(arguments.alpha.template as<Factor>()),
        beta_(arguments.beta.template as<Factor>()),
        is_plain_(alpha_ == Factor(1) && beta_ == Factor(0) && bias_ == nullptr &&
                  sizeof(Part) == (kernels.extracts ? 8 : 4)),
        is_direct_(is_plain_ && d.c.column_stride == 1 && d.activation != Activation::relu) {}

  void tile(const Tile& tile) const {
    const std::int64_t rows = std::min<std::int64_t>(kernels_.rows, d_.m - tile.row);
    const auto count = static_cast<int>(std::min<std::int64_t>(kernels_.columns, d_.n * parts - tile.column));
    for (int i = 0; i < rows; ++i) {
      const Row row{
          tile, i, count, tile.sums.high + i * kernels_.columns, tile.sums.low + i * kernels_.columns, doubt(tile, i)};
      Part rounded[most_columns];
      Part* const to = is_direct_ && count == kernels_.columns ? place(tile, i, 0) : rounded;
      if (const std::uint64_t open = round(row, to); open != 0) settle(row, open, to);
      if (to == rounded)
        for (int j = 0; j < count; ++j) *place(tile, i, j) = activated(rounded[j]);
    }
  }

 private:
  static constexpr int most_columns = 16;

  struct Row {
    const Tile& tile;
    int index;
    int count;
    const double* high;
    const double* low;
    Doubt doubt;
  };

  [[nodiscard]] Doubt doubt(const Tile& tile, int i) const {
    return {.row_norm = tile.rows.norms[i],
            .row_step = tile.rows.steps[i],
            .row_grain = tile.rows.grains[i],
            .columns = tile.columns,
            .relative = trust_.certifies ? trust_.relative : 0,
            .absolute = trust_.certifies ? trust_.absolute : 0,
            .largest_grain = trust_.largest_grain};
  }

  [[nodiscard]] Part* place(const Tile& tile, int i, int j) const {
    const std::int64_t column = tile.column + j;
    const std::int64_t element = (tile.row + i) * d_.c.row_stride + column / parts * d_.c.column_stride;
    return c_ + element * parts + column % parts;
  }

  [[nodiscard]] Part activated(Part x) const {
    if (d_.activation != Activation::relu) return x;
    const double value = as_double(x);
    return std::signbit(value) && !std::isnan(value) ? Part(0) : x;
  }

  /// Rounds what is certain; the other bits of the answer are set.
  std::uint64_t round(const Row& row, Part* to) const {
    if (is_plain_) return kernels_.round_row(row.doubt, row.high, row.low, row.count, to);
    std::uint64_t open = 0;
    for (int j = 0; j < row.count; ++j)
      if (!round_form(row, j, to[j])) open |= std::uint64_t{1} << j;
    return open;
  }

  bool round_form(const Row& row, int j, Part& to) const {
    const Form form = form_of(row, j);
    Interval value;
    double size = 0;
    for (int t = 0; t < form.count; ++t) {
      const int column = form.column[t];
      value.add_product(form.factor[t], row.high[column]);
      if (kernels_.extracts) value.low += form.factor[t] * row.low[column];
      size += std::fabs(form.factor[t]) * std::fabs(row.high[column]);
      if (trust_.certifies) value.error += std::fabs(form.factor[t]) * doubt_at(row, column);
    }
    for (int t = 0; t < form.fixed_count; ++t) {
      value.add_product(form.fixed[t][0], form.fixed[t][1]);
      size += std::fabs(form.fixed[t][0] * form.fixed[t][1]);
    }
    value.add(form.bias);
    size += std::fabs(form.bias);
    if (!(size < 0x1p1000)) return false;
    // Each operation in two parts loses less than 2^-104 of what was added up, or underflows.
    if (size != 0) value.error += size * 0x1p-100 + 0x1p-1060;
    if (!trust_.certifies) value.error = 0;
    const double least = rounded_sum<Part>(value.high, value.low - value.error);
    const double most = rounded_sum<Part>(value.high, value.low + value.error);
    to = as_element<Part>(least);
    return std::isfinite(least) && least == most && std::signbit(least) == std::signbit(most);
  }

  [[nodiscard]] double doubt_at(const Row& row, int j) const {
    const Doubt& d = row.doubt;
    const bool exact = d.row_grain * d.columns.grains[j] <= d.largest_grain && d.row_step * d.columns.steps[j] > 0;
    return exact ? 0 : d.relative * (d.row_norm * d.columns.norms[j]) + d.absolute;
  }

  [[nodiscard]] Form form_of(const Row& row, int j) const {
    Form form;
    const auto bias = [&](int part) {
      const std::int64_t line = d_.bias == Bias::per_row ? row.tile.row + row.index : (row.tile.column + j) / parts;
      return as_double(bias_[line * parts + part]);
    };
    const auto before = [&](int column) { return as_double(*place(row.tile, row.index, column)); };
    if constexpr (!complex) {
      if (terms_ != 0) form.add(static_cast<double>(alpha_), j);
      if (beta_ != 0) form.add_fixed(static_cast<double>(beta_), before(j));
      if (bias_ != nullptr) form.bias = bias(0);
    } else {
      const int part = j % 2;
      const int other = part == 0 ? j + 1 : j - 1;
      const auto imaginary = [&](Factor f) { return static_cast<double>(part == 0 ? -f.imag() : f.imag()); };
      if (terms_ != 0) form.add(static_cast<double>(alpha_.real()), j);
      if (terms_ != 0 && alpha_.imag() != 0) form.add(imaginary(alpha_), other);
      if (beta_ != Factor(0)) {
        form.add_fixed(static_cast<double>(beta_.real()), before(j));
        if (beta_.imag() != 0) form.add_fixed(imaginary(beta_), before(other));
      }
      if (bias_ != nullptr) form.bias = bias(part);
    }
    return form;
  }

  /// A sum, exactly, or the Inf or NaN that it is.
  struct Exact {
    core::ExactSum sum;
    double special = 0;
  };

  [[nodiscard]] Exact exact(const Row& row, int j) const {
    Exact result;
    const double* a = row.tile.a + row.index;
    const double* b = row.tile.b + j;
    for (std::int64_t p = 0; p < terms_; ++p, a += kernels_.rows, b += kernels_.columns) {
      const double product = *a * *b;
      if (!std::isfinite(*a) || !std::isfinite(*b)) {
        result.special += product;
        if (std::isnan(result.special)) return result;
      } else if (kernels_.extracts) {
        result.sum.add_product(*a, *b);
      } else {
        result.sum.add(product);
      }
    }
    return result;
  }

  void settle(const Row& row, std::uint64_t open, Part* to) const {
    Windows windows;
    for (int j = 0; open != 0; ++j, open >>= 1)
      if ((open & 1) != 0) to[j] = as_element<Part>(settle(row, j, windows));
  }

  /// The value of a component that was in doubt, rounded. `windows` are those of the row once it was summed again.
  [[nodiscard]] double settle(const Row& row, int j, Windows& windows) const {
    const Form form = form_of(row, j);
    bool is_finite = form.is_finite();
    bool is_exact = true;
    bool is_inside = true;
    for (int t = 0; t < form.count; ++t) {
      const int column = form.column[t];
      is_finite = is_finite && std::isfinite(row.high[column]) && std::isfinite(row.low[column]);
      is_exact = is_exact && (!trust_.certifies || doubt_at(row, column) == 0);
      is_inside = is_inside && products_of(row, column).high != 0;
    }
    if (is_finite && is_exact) return from_sums(row, form);
    if (is_finite && is_inside && refine(row, windows)) return from_windows(form, windows);
    return from_terms(row, form);
  }

  /// Powers of two: no product of the row and a column is larger than `high`, all are multiples of `low`. 0 where there
  /// are none that f64 can tell.
  struct Span {
    double high;
    double low;
  };
  [[nodiscard]] static Span products_of(const Row& row, int j) {
    const double high = row.doubt.row_norm * row.doubt.columns.norms[j];
    const double low = row.doubt.row_step * row.doubt.columns.steps[j];
    return high >= low && low > 0 && high < 0x1p960 ? Span{std::ldexp(1.0, std::ilogb(high) + 1), low} : Span{0, 0};
  }

  /// False where the row's products need more windows than there are.
  bool refine(const Row& row, Windows& windows) const {
    if (windows.count != 0) return windows.count <= most_windows;
    Span all{0, HUGE_VAL};
    for (int j = 0; j < row.count; ++j)
      if (const Span span = products_of(row, j); span.high != 0)
        all = {std::max(all.high, span.high), std::min(all.low, span.low)};
    // A sum of so many parts must not need more than 53 bits.
    const int bits = 51 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(terms_)));
    const int low = std::ilogb(all.low);
    for (int last = std::ilogb(all.high); last > low;) {
      last = std::max(last - bits, low);
      if (windows.count++ == most_windows) return false;
      windows.starts[windows.count - 1] = std::ldexp(1.5, last + 52);
    }
    kernels_.refine(row.tile.a + row.index, row.tile.b, terms_, windows, refined_);
    return true;
  }

  [[nodiscard]] double from_windows(const Form& form, const Windows& windows) const {
    core::ExactSum sum;
    for (int t = 0; t < form.count; ++t)
      for (int w = 0; w < windows.count; ++w)
        sum.add_product(form.factor[t], refined_[w * kernels_.columns + form.column[t]]);
    form.add_rest(sum);
    return sum.rounded(core::format_of(element_type_v<Part>));
  }

  [[nodiscard]] double from_sums(const Row& row, const Form& form) const {
    core::ExactSum sum;
    for (int t = 0; t < form.count; ++t) {
      sum.add_product(form.factor[t], row.high[form.column[t]]);
      if (kernels_.extracts) sum.add_product(form.factor[t], row.low[form.column[t]]);
    }
    form.add_rest(sum);
    return sum.rounded(core::format_of(element_type_v<Part>));
  }

  [[nodiscard]] double from_terms(const Row& row, const Form& form) const {
    Exact exacts[2];
    double stand_ins[2] = {};
    bool is_finite = form.is_finite();
    for (int t = 0; t < form.count; ++t) {
      exacts[t] = exact(row, form.column[t]);
      is_finite = is_finite && exacts[t].special == 0;
      stand_ins[t] = exacts[t].special == 0 ? exacts[t].sum.sign() : exacts[t].special;
    }
    if (!is_finite) return form.special(stand_ins);
    core::ExactSum sum;
    for (int t = 0; t < form.count; ++t) sum.add_scaled(form.factor[t], exacts[t].sum);
    form.add_rest(sum);
    return sum.rounded(core::format_of(element_type_v<Part>));
  }

  const GemmDescription& d_;
  const CertifiedKernels& kernels_;
  const core::Trust& trust_;
  std::int64_t terms_;
  double* refined_;  ///< of a row: sums by windows
  Part* c_;
  const Part* bias_;
  Factor alpha_;
  Factor beta_;
  bool is_plain_;   ///< the sum is the result
  bool is_direct_;  ///< and neighbours of a row are neighbours in C
};

}  // namespace exactile::cpu
