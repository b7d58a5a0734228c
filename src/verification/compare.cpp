// SPDX-License-Identifier: Apache-2.0
#include "verification/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "verification/elements.hpp"
#include "verification/oracle.hpp"

namespace exactile::verification {
namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

/// A part of one row of C-shaped elements, read as doubles or integers.
struct RowPart {
  std::vector<double> real, imaginary;
  std::vector<std::uint64_t> integers;

  void read(const GemmDescription& d, const void* data, std::int64_t p, std::int64_t i, std::int64_t first,
            std::int64_t columns) {
    const ElementType type = d.types.output;
    const void* base = product_base(d.c, type, data, p);
    const std::int64_t start = i * d.c.row_stride + first * d.c.column_stride;
    if (is_floating(type)) {
      real.assign(size(columns), 0);
      imaginary.assign(size(columns), 0);
      gather(type, base, start, d.c.column_stride, columns, real.data(), imaginary.data());
    } else {
      integers.assign(size(columns), 0);
      gather(type, base, start, d.c.column_stride, columns, integers.data());
    }
  }
};

/// How one computed component stands to what is due.
struct Judgement {
  bool passed;
  double error;  // 0 where nothing can be measured
  double ratio;
};

Judgement judge(const Due& due, double computed, double output_limit) {
  if (std::isfinite(due.value.hi) && std::isfinite(computed)) {
    const double error = std::fabs((computed - due.value.hi) - due.value.lo);
    const double ratio = error == 0 ? 0 : error / due.tolerance;
    return {ratio <= 1 || due.may_overflow, error, due.may_overflow ? 0 : ratio};
  }
  if (due.may_overflow) return {true, 0, 0};
  if (std::isnan(due.value.hi)) return {std::isnan(computed), 0, 0};
  if (std::isinf(due.value.hi)) return {computed == due.value.hi, 0, 0};
  const bool rounds_away = std::isinf(computed) && std::signbit(computed) == std::signbit(due.value.hi) &&
                           std::fabs(due.value.hi) + due.reach >= output_limit;
  return {rounds_away, 0, 0};
}

/// Frobenius norms of what is due and of the errors. No square of a double overflows or vanishes in a long double.
class Norms {
 public:
  void add(double due, double error) {
    due_ += static_cast<long double>(due) * static_cast<long double>(due);
    error_ += static_cast<long double>(error) * static_cast<long double>(error);
  }
  [[nodiscard]] double quotient() const { return error_ == 0 ? 0 : static_cast<double>(std::sqrt(error_ / due_)); }

 private:
  long double due_ = 0;
  long double error_ = 0;
};

std::string describe(double real, double imaginary, bool complex) {
  return complex ? fmt::format("{:.17g}{:+.17g}i", real, imaginary) : fmt::format("{:.17g}", real);
}

std::string place(const GemmDescription& d, std::int64_t p, std::int64_t i, std::int64_t j) {
  return d.batch_count == 1 ? fmt::format("C({}, {})", i, j) : fmt::format("C({}, {}) of product {}", i, j, p);
}

class FloatComparison {
 public:
  FloatComparison(const GemmDescription& d, const GemmArguments& arguments, const void* c_before, Accuracy accuracy,
                  bool exact)
      : d_(d),
        arguments_(arguments),
        c_before_(c_before),
        bound_(d, arguments, accuracy, exact),
        oracle_(d, arguments, accuracy) {}

  FloatOracle& oracle() { return oracle_; }
  void finish(ErrorReport& report) const { report.norm_error = norms_.quotient(); }

  void row(std::int64_t p, std::int64_t i, std::int64_t first, std::int64_t columns, ErrorReport& report) {
    oracle_.form(i);
    computed_.read(d_, arguments_.c, p, i, first, columns);
    const bool reads_c = !arguments_.beta.is_zero();
    if (reads_c) before_.read(d_, c_before_, p, i, first, columns);
    const bool has_sums = d_.k != 0 && !arguments_.alpha.is_zero();
    for (std::int64_t j = 0; j < columns; ++j) {
      ElementInput input{.real = oracle_.real(j), .imaginary = oracle_.imaginary(j)};
      if (reads_c) input.c_before = {before_.real[size(j)], before_.imaginary[size(j)]};
      input.bias = bias(i, first + j);
      if (has_sums && d_.row_scales) input.row_scale = scale(arguments_.row_scales, i);
      if (has_sums && d_.column_scales) input.column_scale = scale(arguments_.column_scales, first + j);
      element(bound_.due(input), computed_.real[size(j)], computed_.imaginary[size(j)], p, i, first + j, report);
    }
  }

 private:
  [[nodiscard]] double in_u(const Judgement& judged, const Due& due) const {
    return judged.error == 0 ? 0 : judged.error / (bound_.coarsest_roundoff() * due.magnitude);
  }

  std::complex<double> bias(std::int64_t i, std::int64_t j) const {
    if (d_.bias == Bias::none) return 0;
    double real = 0;
    double imaginary = 0;
    gather(d_.types.output, arguments_.bias, d_.bias == Bias::per_row ? i : j, 1, 1, &real, &imaginary);
    return {real, imaginary};
  }

  double scale(const void* scales, std::int64_t index) const {
    double value = 0;
    gather(accumulator_type(d_.types), scales, index, 1, 1, &value, nullptr);
    return value;
  }

  void element(const DueElement& due, double real, double imaginary, std::int64_t p, std::int64_t i, std::int64_t j,
               ErrorReport& report) {
    const bool complex = is_complex(d_.types.output);
    const Judgement first = judge(due.real, real, bound_.output_limit());
    const Judgement second = complex ? judge(due.imaginary, imaginary, bound_.output_limit()) : Judgement{true, 0, 0};
    bool passed = first.passed && second.passed;
    const bool due_is_finite = std::isfinite(due.real.value.hi) && std::isfinite(due.imaginary.value.hi);
    // Which component of a complex product becomes NaN and which Inf depends on the formula (C's annex G repairs some);
    // that the element is not a number is sure.
    if (complex && !due_is_finite) passed = !(std::isfinite(real) && std::isfinite(imaginary));
    report.error_over_bound = std::max({report.error_over_bound, first.ratio, second.ratio});
    if (due_is_finite && std::isfinite(real) && std::isfinite(imaginary)) {
      norms_.add(due.real.value.hi, first.error);
      norms_.add(due.imaginary.value.hi, second.error);
      report.error_in_u = std::max({report.error_in_u, in_u(first, due.real), in_u(second, due.imaginary)});
    }
    const double value = std::hypot(due.real.value.hi, due.imaginary.value.hi);
    if (passed && due_is_finite && value > 0)
      report.max_relative_error = std::max(report.max_relative_error, std::hypot(first.error, second.error) / value);
    if (passed) return;
    if (first.ratio <= 1 && second.ratio <= 1) report.error_over_bound = std::numeric_limits<double>::infinity();
    if (!report.passed) return;
    report.passed = false;
    report.failure =
        fmt::format("{} is {} where {} was due, within {:.3g}", place(d_, p, i, j), describe(real, imaginary, complex),
                    describe(due.real.value.hi, due.imaginary.value.hi, complex),
                    std::max(due.real.tolerance, due.imaginary.tolerance));
  }

  const GemmDescription& d_;
  const GemmArguments& arguments_;
  const void* c_before_;
  ErrorBound bound_;
  FloatOracle oracle_;
  RowPart computed_, before_;
  Norms norms_;
};

class IntegerComparison {
 public:
  IntegerComparison(const GemmDescription& d, const GemmArguments& arguments, const void* c_before)
      : d_(d), arguments_(arguments), c_before_(c_before), oracle_(d, arguments) {}

  IntegerOracle& oracle() { return oracle_; }
  void finish(ErrorReport& report) const {
    if (!report.passed) report.error_in_u = report.norm_error = std::numeric_limits<double>::infinity();
  }

  void row(std::int64_t p, std::int64_t i, std::int64_t first, std::int64_t columns, ErrorReport& report) {
    oracle_.form(i);
    computed_.read(d_, arguments_.c, p, i, first, columns);
    const bool reads_c = !arguments_.beta.is_zero();
    if (reads_c) before_.read(d_, c_before_, p, i, first, columns);
    for (std::int64_t j = 0; j < columns; ++j) {
      std::uint64_t z = arguments_.alpha.as<std::uint64_t>() * oracle_.sum(j);
      if (reads_c) z += arguments_.beta.as<std::uint64_t>() * before_.integers[size(j)];
      if (d_.bias != Bias::none) {
        std::uint64_t bias = 0;
        gather(d_.types.output, arguments_.bias, d_.bias == Bias::per_row ? i : first + j, 1, 1, &bias);
        z += bias;
      }
      element(wrapped(z), computed_.integers[size(j)], p, i, first + j, report);
    }
  }

 private:
  /// z modulo 2^w as the output type holds it, activation applied.
  std::int64_t wrapped(std::uint64_t z) const {
    const auto value = d_.types.output == ElementType::i32 ? static_cast<std::int64_t>(static_cast<std::int32_t>(z))
                                                           : static_cast<std::int64_t>(z);
    return d_.activation == Activation::relu ? std::max<std::int64_t>(value, 0) : value;
  }

  void element(std::int64_t due, std::uint64_t computed_bits, std::int64_t p, std::int64_t i, std::int64_t j,
               ErrorReport& report) {
    const auto computed = static_cast<std::int64_t>(computed_bits);
    if (computed == due) return;
    report.error_over_bound = std::numeric_limits<double>::infinity();
    if (due != 0) {
      const double error = std::fabs(static_cast<double>(computed) - static_cast<double>(due));
      report.max_relative_error = std::max(report.max_relative_error, error / std::fabs(static_cast<double>(due)));
    }
    if (!report.passed) return;
    report.passed = false;
    report.failure = fmt::format("{} is {} where {} was due", place(d_, p, i, j), computed, due);
  }

  const GemmDescription& d_;
  const GemmArguments& arguments_;
  const void* c_before_;
  IntegerOracle oracle_;
  RowPart computed_, before_;
};

template <class Comparison>
ErrorReport walk(Comparison comparison, const GemmDescription& d, const std::vector<std::int64_t>& rows) {
  ErrorReport report;
  const std::int64_t width = comparison.oracle().panel_columns();
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::int64_t p = rows[begin] / d.m;
    std::size_t end = begin;
    while (end < rows.size() && rows[end] / d.m == p) ++end;
    for (std::int64_t first = 0; first < d.n; first += width) {
      const std::int64_t columns = std::min(width, d.n - first);
      comparison.oracle().open(p, first, columns);
      for (std::size_t r = begin; r < end; ++r) comparison.row(p, rows[r] % d.m, first, columns, report);
    }
    begin = end;
  }
  report.rows_checked = static_cast<std::int64_t>(rows.size());
  comparison.finish(report);
  return report;
}

}  // namespace

std::vector<std::int64_t> rows_to_check(const GemmDescription& d, double work_limit) {
  const std::int64_t total = d.m * d.batch_count;
  const double row_work = static_cast<double>(d.n) * static_cast<double>(std::max<std::int64_t>(d.k, 1));
  const double affordable = std::max(2.0, work_limit / std::max(row_work, 1.0));
  std::vector<std::int64_t> rows;
  if (affordable >= static_cast<double>(total)) {
    for (std::int64_t r = 0; r < total; ++r) rows.push_back(r);
    return rows;
  }
  const auto budget = static_cast<std::int64_t>(affordable);
  const std::int64_t products = std::min(d.batch_count, std::max<std::int64_t>(budget / 4, 1));
  for (std::int64_t t = 0; t < products; ++t) {
    const std::int64_t p = products == 1 ? d.batch_count - 1 : t * (d.batch_count - 1) / (products - 1);
    rows.push_back(p * d.m);
    rows.push_back(p * d.m + d.m - 1);
  }
  // A step that shares no factor with tile sizes meets every place within a tile.
  const double step = static_cast<double>(total) / static_cast<double>(budget);
  for (double r = step / 2; r < static_cast<double>(total); r += step) rows.push_back(static_cast<std::int64_t>(r));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

ErrorReport compare_rows(const GemmDescription& description, const GemmArguments& arguments, const void* c_before,
                         Accuracy accuracy, double work_limit, bool exact) {
  if (description.m == 0 || description.n == 0 || description.batch_count == 0) return {};
  const std::vector<std::int64_t> rows = rows_to_check(description, work_limit);
  if (!is_floating(description.types.output))
    return walk(IntegerComparison(description, arguments, c_before), description, rows);
  return walk(FloatComparison(description, arguments, c_before, accuracy, exact), description, rows);
}

ErrorReport compare(const GemmDescription& description, const GemmArguments& arguments, const void* c_before,
                    Accuracy accuracy, double work_limit) {
  return compare_rows(description, arguments, c_before, accuracy, work_limit, false);
}

void merge(ErrorReport& into, const ErrorReport& from) {
  into.max_relative_error = std::max(into.max_relative_error, from.max_relative_error);
  into.error_in_u = std::max(into.error_in_u, from.error_in_u);
  into.norm_error = std::max(into.norm_error, from.norm_error);
  into.error_over_bound = std::max(into.error_over_bound, from.error_over_bound);
  into.rows_checked = std::max(into.rows_checked, from.rows_checked);
  if (into.passed && !from.passed) into.failure = from.failure;
  into.passed = into.passed && from.passed;
}

}  // namespace exactile::verification
