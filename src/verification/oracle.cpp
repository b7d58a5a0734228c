// SPDX-License-Identifier: Apache-2.0
#include "verification/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "verification/elements.hpp"

namespace exactile::verification {
namespace {

/// About 4 MiB of B at a time, but never so narrow that the loop over columns is not worth its start.
std::int64_t columns_for(const GemmDescription& description) {
  constexpr std::int64_t panel_elements = 1 << 19;
  return std::clamp<std::int64_t>(panel_elements / std::max<std::int64_t>(description.k, 1), 8, 512);
}

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

}  // namespace

FloatOracle::FloatOracle(const GemmDescription& description, const GemmArguments& arguments, Accuracy accuracy)
    : description_(description),
      arguments_(arguments),
      complex_(is_complex(description.types.input)),
      compensated_(unit_roundoff(accumulator_type(description.types)) < 0x1p-30 || accuracy > Accuracy::standard),
      reads_(!arguments.alpha.is_zero()),
      least_weight_(least_weight(description.types.input, accuracy)),
      panel_columns_(std::min(columns_for(description), std::max<std::int64_t>(description.n, 1))) {
  for (auto* row : {&a_real_, &a_imaginary_}) row->resize(size(description.k));
  for (Sums* sums : {&real_, &imaginary_})
    for (auto* values : {&sums->hi, &sums->lo, &sums->magnitude}) values->resize(size(panel_columns_));
}

void FloatOracle::open(std::int64_t p, std::int64_t first, std::int64_t columns) {
  columns_ = columns;
  if (!reads_) return;
  const ElementType type = description_.types.input;
  a_base_ = product_base(description_.a, type, arguments_.a, p);
  const void* b_base = product_base(description_.b, type, arguments_.b, p);
  b_real_.resize(size(description_.k * columns));
  if (complex_) b_imaginary_.resize(b_real_.size());
  const OperandLayout& b = description_.b;
  for (std::int64_t kk = 0; kk < description_.k; ++kk)
    gather(type, b_base, kk * b.row_stride + first * b.column_stride, b.column_stride, columns,
           b_real_.data() + kk * columns, b_imaginary_.data() + (complex_ ? kk * columns : 0), b.conjugate);
}

void FloatOracle::add(double a, const double* b, Sums& sums) const {
  if (compensated_) {
    accumulate_compensated(columns_, a, b, sums.hi.data(), sums.lo.data(), sums.magnitude.data());
  } else {
    accumulate(columns_, a, b, sums.hi.data(), sums.magnitude.data());
  }
  if (least_weight_ == 0) return;
  const double a_weight = weight(a, least_weight_);
  for (std::int64_t j = 0; j < columns_; ++j)
    sums.magnitude[size(j)] += a_weight * weight(b[j], least_weight_) - std::fabs(a * b[j]);
}

void FloatOracle::form(std::int64_t i) {
  for (Sums* sums : {&real_, &imaginary_})
    for (auto* values : {&sums->hi, &sums->lo, &sums->magnitude}) std::fill(values->begin(), values->end(), 0.0);
  if (!reads_) return;
  gather(description_.types.input, a_base_, i * description_.a.row_stride, description_.a.column_stride, description_.k,
         a_real_.data(), a_imaginary_.data(), description_.a.conjugate);
  for (std::int64_t kk = 0; kk < description_.k; ++kk) {
    const double* b_real = b_real_.data() + kk * columns_;
    add(a_real_[size(kk)], b_real, real_);
    if (!complex_) continue;
    const double* b_imaginary = b_imaginary_.data() + kk * columns_;
    add(-a_imaginary_[size(kk)], b_imaginary, real_);
    add(a_real_[size(kk)], b_imaginary, imaginary_);
    add(a_imaginary_[size(kk)], b_real, imaginary_);
  }
}

InnerProduct FloatOracle::finished(const Sums& sums, std::int64_t column, bool imaginary) const {
  const std::size_t j = size(column);
  if (!std::isfinite(sums.hi[j])) return classify(column, imaginary);
  const DoubleDouble sum = two_sum(sums.hi[j], sums.lo[j]);
  return {sum, sums.magnitude[j]};
}

/// The sum is not finite: by its operands (then NaN or Inf is due whatever the order), or by growing out of the range.
InnerProduct FloatOracle::classify(std::int64_t column, bool imaginary) const {
  bool nan = false;
  bool positive = false;
  bool negative = false;
  double magnitude = 0;
  const auto term = [&](double a, double b) {
    const double product = a * b;
    if (std::isfinite(a) && std::isfinite(b)) {
      magnitude += weight(a, least_weight_) * weight(b, least_weight_);
    } else if (std::isnan(product)) {
      nan = true;
    } else {
      (product > 0 ? positive : negative) = true;
    }
  };
  for (std::int64_t kk = 0; kk < description_.k; ++kk) {
    const std::size_t at = size(kk * columns_ + column);
    const double a = a_real_[size(kk)];
    if (!complex_) {
      term(a, b_real_[at]);
    } else {
      term(a, imaginary ? b_imaginary_[at] : b_real_[at]);
      term(imaginary ? a_imaginary_[size(kk)] : -a_imaginary_[size(kk)], imaginary ? b_real_[at] : b_imaginary_[at]);
    }
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (nan || (positive && negative)) return {{std::numeric_limits<double>::quiet_NaN(), 0}, magnitude};
  if (positive || negative) return {{positive ? infinity : -infinity, 0}, magnitude};
  return {{std::numeric_limits<double>::quiet_NaN(), 0}, infinity};
}

IntegerOracle::IntegerOracle(const GemmDescription& description, const GemmArguments& arguments)
    : description_(description),
      arguments_(arguments),
      reads_(!arguments.alpha.is_zero()),
      panel_columns_(std::min(columns_for(description), std::max<std::int64_t>(description.n, 1))),
      a_(size(description.k)),
      sums_(size(panel_columns_)) {}

void IntegerOracle::open(std::int64_t p, std::int64_t first, std::int64_t columns) {
  columns_ = columns;
  if (!reads_) return;
  const ElementType type_b = description_.types.input_b;
  a_base_ = product_base(description_.a, description_.types.input, arguments_.a, p);
  const void* b_base = product_base(description_.b, type_b, arguments_.b, p);
  b_.resize(size(description_.k * columns));
  const OperandLayout& b = description_.b;
  for (std::int64_t kk = 0; kk < description_.k; ++kk)
    gather(type_b, b_base, kk * b.row_stride + first * b.column_stride, b.column_stride, columns,
           b_.data() + kk * columns);
}

void IntegerOracle::form(std::int64_t i) {
  std::fill(sums_.begin(), sums_.end(), 0);
  if (!reads_) return;
  gather(description_.types.input, a_base_, i * description_.a.row_stride, description_.a.column_stride, description_.k,
         a_.data());
  for (std::int64_t kk = 0; kk < description_.k; ++kk) {
    const std::uint64_t a = a_[size(kk)];
    const std::uint64_t* b = b_.data() + kk * columns_;
    std::uint64_t* sums = sums_.data();
    for (std::int64_t j = 0; j < columns_; ++j) sums[j] += a * b[j];
  }
}

}  // namespace exactile::verification
