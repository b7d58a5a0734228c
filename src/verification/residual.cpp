// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "verification/bound.hpp"
#include "verification/elements.hpp"
#include "verification/verification.hpp"

namespace exactile::verification {
namespace {

/// An error that one vector misses (its two halves happen to cancel) is missed by all with probability 2^-vectors.
constexpr int float_vectors = 2;
/// Modulo 2^w an error may hide in the highest bit, and each vector then sees it with probability 1/2 only.
constexpr int integer_vectors = 8;

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

/// +1 or -1, by SplitMix64.
std::vector<double> random_signs(std::int64_t count, std::uint64_t& state) {
  std::vector<double> signs(size(count));
  for (double& sign : signs) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    sign = ((z ^ (z >> 31)) & 1) != 0 ? -1.0 : 1.0;
  }
  return signs;
}

/// A complex number in twice the precision of double, with the magnitude of all that was added into it.
struct WideSum {
  DoubleDouble real, imaginary;
  double magnitude = 0;

  void add(double scale, std::complex<double> z, double least = 0) {
    real = real + two_product(scale, z.real());
    imaginary = imaginary + two_product(scale, z.imag());
    magnitude += std::fabs(scale) * (weight(z.real(), least) + weight(z.imag(), least));
  }
  void add(std::complex<double> scale, const WideSum& w, double least = 0) {
    real = real + w.real * scale.real() + w.imaginary * -scale.imag();
    imaginary = imaginary + w.imaginary * scale.real() + w.real * scale.imag();
    magnitude += (weight(scale.real(), least) + weight(scale.imag(), least)) * w.magnitude;
  }
};

/// Reads one row of an operand as complex numbers.
class RowReader {
 public:
  RowReader(ElementType type, const OperandLayout& layout, const void* data, std::int64_t columns)
      : type_(type), layout_(layout), data_(data), real_(size(columns)), imaginary_(size(columns)) {}

  void read(std::int64_t p, std::int64_t i) {
    gather(type_, product_base(layout_, type_, data_, p), i * layout_.row_stride, layout_.column_stride,
           static_cast<std::int64_t>(real_.size()), real_.data(), imaginary_.data(), layout_.conjugate);
  }
  [[nodiscard]] std::complex<double> operator[](std::int64_t j) const { return {real_[size(j)], imaginary_[size(j)]}; }

 private:
  ElementType type_;
  const OperandLayout& layout_;
  const void* data_;
  std::vector<double> real_, imaginary_;
};

class FloatResidual {
 public:
  FloatResidual(const GemmDescription& d, const GemmArguments& arguments, const void* c_before, Accuracy accuracy)
      : d_(d),
        bound_(d, arguments, accuracy, false),
        least_weight_(least_weight(d.types.input, accuracy)),
        reads_ab_(!arguments.alpha.is_zero()),
        reads_c_(!arguments.beta.is_zero()),
        a_(d.types.input, d.a, arguments.a, d.k),
        b_(d.types.input_b, d.b, arguments.b, d.n),
        c_(d.types.output, d.c, arguments.c, d.n),
        before_(d.types.output, d.c, c_before, d.n),
        bias_(size(d.bias == Bias::none ? 0 : std::max(d.m, d.n))),
        row_scales_(size(d.m), 1.0),
        column_scales_(size(d.n), 1.0) {
    const std::int64_t length = d.bias == Bias::per_row ? d.m : d.n;
    std::vector<double> real(size(length));
    std::vector<double> imaginary(size(length));
    if (d.bias != Bias::none) gather(d.types.output, arguments.bias, 0, 1, length, real.data(), imaginary.data());
    for (std::int64_t t = 0; t < length && d.bias != Bias::none; ++t)
      bias_[size(t)] = {real[size(t)], imaginary[size(t)]};
    if (!reads_ab_ || d.k == 0) return;
    const auto read = [&](std::vector<double>& to, const void* scales) {
      gather(accumulator_type(d.types), scales, 0, 1, static_cast<std::int64_t>(to.size()), to.data(), nullptr);
    };
    if (d.row_scales) read(row_scales_, arguments.row_scales);
    if (d.column_scales) read(column_scales_, arguments.column_scales);
    for (const double scale : column_scales_) column_stretch_ = std::max(column_stretch_, std::fabs(scale));
  }

  void product(std::int64_t p, const std::vector<double>& x, ErrorReport& report) {
    std::vector<WideSum> bx(size(reads_ab_ ? d_.k : 0));
    for (std::int64_t kk = 0; kk < static_cast<std::int64_t>(bx.size()); ++kk) {
      b_.read(p, kk);
      for (std::int64_t j = 0; j < d_.n; ++j)
        bx[size(kk)].add(x[size(j)] * column_scales_[size(j)], b_[j], least_weight_);
    }
    for (std::int64_t i = 0; i < d_.m; ++i) row(p, i, x, bx, report);
  }

 private:
  void row(std::int64_t p, std::int64_t i, const std::vector<double>& x, const std::vector<WideSum>& bx,
           ErrorReport& report) {
    WideSum due;
    if (reads_ab_) {
      WideSum sum;
      a_.read(p, i);
      for (std::int64_t kk = 0; kk < d_.k; ++kk) sum.add(a_[kk], bx[size(kk)], least_weight_);
      WideSum scaled;
      scaled.add(row_scales_[size(i)], sum);
      due.add(bound_.alpha(), scaled);
    }
    if (reads_c_) {
      WideSum sum;
      before_.read(p, i);
      for (std::int64_t j = 0; j < d_.n; ++j) sum.add(x[size(j)], before_[j]);
      due.add(bound_.beta(), sum);
    }
    for (std::int64_t j = 0; d_.bias != Bias::none && j < d_.n; ++j)
      due.add(x[size(j)], bias_[size(d_.bias == Bias::per_row ? i : j)]);
    WideSum found;
    c_.read(p, i);
    for (std::int64_t j = 0; j < d_.n; ++j) found.add(x[size(j)], c_[j]);
    judge(p, i, due, found, report);
  }

  void judge(std::int64_t p, std::int64_t i, const WideSum& due, const WideSum& found, ErrorReport& report) const {
    // Special values, and sums near the end of the range, are compare()'s business.
    if (!(due.magnitude < std::min(bound_.accumulator_limit(), bound_.output_limit()) / 4)) return;
    ++report.rows_checked;
    // The sum over the row of the bounds of its elements; each of the two sums formed here adds its own gamma(u^2).
    const double n = static_cast<double>(d_.n);
    const double own = 4 * static_cast<double>(d_.n + d_.k + 4) * 0x1p-104;
    const double underflow = bound_.underflow() * column_stretch_ * std::max(1.0, std::fabs(row_scales_[size(i)]));
    const double tolerance = bound_.relative() * due.magnitude + n * (underflow + bound_.output_underflow()) +
                             2 * bound_.output_roundoff() * found.magnitude + own * (due.magnitude + found.magnitude);
    const double real = std::fabs((found.real.hi - due.real.hi) + (found.real.lo - due.real.lo));
    const double imaginary =
        std::fabs((found.imaginary.hi - due.imaginary.hi) + (found.imaginary.lo - due.imaginary.lo));
    const double error = std::max(real, imaginary);
    const double ratio = error == 0 ? 0 : error / tolerance;
    const bool passed = ratio <= 1;
    if (passed) {
      report.error_over_bound = std::max(report.error_over_bound, ratio);
      return;
    }
    report.error_over_bound =
        std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(report.error_over_bound, ratio);
    if (!report.passed) return;
    report.passed = false;
    report.failure = fmt::format("row {} of product {}: the residual of a random vector is {:.3g}, its bound {:.3g}", i,
                                 p, error, tolerance);
  }

  const GemmDescription& d_;
  ErrorBound bound_;
  double least_weight_;
  bool reads_ab_;
  bool reads_c_;
  RowReader a_, b_, c_, before_;
  std::vector<std::complex<double>> bias_;
  std::vector<double> row_scales_, column_scales_;
  double column_stretch_ = 1;  ///< what the largest of them makes of what underflowed
};

std::vector<std::uint64_t> integer_row(ElementType type, const OperandLayout& layout, const void* data, std::int64_t p,
                                       std::int64_t i, std::int64_t columns) {
  std::vector<std::uint64_t> row(size(columns));
  gather(type, product_base(layout, type, data, p), i * layout.row_stride, layout.column_stride, columns, row.data());
  return row;
}

std::uint64_t dot(const std::vector<std::uint64_t>& row, const std::vector<std::uint64_t>& x) {
  std::uint64_t sum = 0;
  for (std::size_t j = 0; j < row.size(); ++j) sum += row[j] * x[j];
  return sum;
}

void integer_product(const GemmDescription& d, const GemmArguments& arguments, const void* c_before, std::int64_t p,
                     const std::vector<std::uint64_t>& x, ErrorReport& report) {
  std::vector<std::uint64_t> bx;
  const bool reads_ab = !arguments.alpha.is_zero();
  for (std::int64_t kk = 0; reads_ab && kk < d.k; ++kk)
    bx.push_back(dot(integer_row(d.types.input_b, d.b, arguments.b, p, kk, d.n), x));
  std::vector<std::uint64_t> bias;
  if (d.bias != Bias::none)
    bias = integer_row(d.types.output, {}, arguments.bias, 0, 0, d.bias == Bias::per_row ? d.m : d.n);
  std::uint64_t x_sum = 0;
  for (const std::uint64_t value : x) x_sum += value;
  for (std::int64_t i = 0; i < d.m; ++i) {
    std::uint64_t due = 0;
    if (reads_ab)
      due = arguments.alpha.as<std::uint64_t>() * dot(integer_row(d.types.input, d.a, arguments.a, p, i, d.k), bx);
    if (!arguments.beta.is_zero())
      due += arguments.beta.as<std::uint64_t>() * dot(integer_row(d.types.output, d.c, c_before, p, i, d.n), x);
    if (d.bias == Bias::per_row) due += bias[size(i)] * x_sum;
    if (d.bias == Bias::per_column) due += dot(bias, x);
    const std::uint64_t found = dot(integer_row(d.types.output, d.c, arguments.c, p, i, d.n), x);
    ++report.rows_checked;
    const std::uint64_t difference = d.types.output == ElementType::i32 ? (found - due) & 0xffffffffU : found - due;
    if (difference == 0 || !report.passed) continue;
    report.passed = false;
    report.error_over_bound = std::numeric_limits<double>::infinity();
    report.failure =
        fmt::format("row {} of product {}: the residual of a random vector is {} where 0 was due", i, p, difference);
  }
}

}  // namespace

ErrorReport residual(const GemmDescription& description, const GemmArguments& arguments, const void* c_before,
                     std::uint64_t seed, Accuracy accuracy) {
  ErrorReport report;
  const bool floating = is_floating(description.types.output);
  if (description.activation != Activation::none || description.m == 0 || description.n == 0) return report;
  std::uint64_t state = seed;
  for (int t = 0; t < (floating ? float_vectors : integer_vectors); ++t) {
    const std::vector<double> x = random_signs(description.n, state);
    const std::vector<std::uint64_t> integers = [&] {
      std::vector<std::uint64_t> values(x.size());
      std::ranges::transform(x, values.begin(), [](double sign) { return sign < 0 ? ~std::uint64_t{0} : 1; });
      return values;
    }();
    for (std::int64_t p = 0; p < description.batch_count; ++p) {
      if (floating) {
        FloatResidual(description, arguments, c_before, accuracy).product(p, x, report);
      } else {
        integer_product(description, arguments, c_before, p, integers, report);
      }
    }
  }
  return report;
}

}  // namespace exactile::verification
