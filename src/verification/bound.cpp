// SPDX-License-Identifier: Apache-2.0
#include "verification/bound.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "exactile/error_bound.hpp"
#include "verification/elements.hpp"

namespace exactile::verification {
namespace {

/// The largest slope of x * Phi(x), rounded up: it is 1.1289 at x = sqrt(2).
constexpr double gelu_slope = 1.13;
/// Roundings of a straightforward x * (1 + erf(x / sqrt 2)) / 2, in units of u|x|: the argument 1 (its relative error
/// 2u times x * pdf(x) <= 0.25), erf 1, the addition 1, the product 1. An erfc form does better.
constexpr double gelu_roundings = 4;

double multiple_of_quarter(double x) { return std::fabs(x) <= 1024 && std::nearbyint(4 * x) == 4 * x; }

}  // namespace

ErrorBound::ErrorBound(const GemmDescription& description, const GemmArguments& arguments, Accuracy accuracy,
                       bool exact)
    : alpha_(scalar_as_accumulator(arguments.alpha, description.types.input)),
      beta_(scalar_as_accumulator(arguments.beta, description.types.input)),
      has_alpha_(!arguments.alpha.is_zero()),
      has_beta_(!arguments.beta.is_zero()),
      exact_(exact && description.activation != Activation::gelu),
      output_(description.types.output),
      activation_(description.activation) {
  const ElementType accumulator = accumulator_type(description.types);
  accumulator_roundoff_ = unit_roundoff(accumulator);
  output_roundoff_ = unit_roundoff(output_);
  const bool more_than_standard = accuracy > Accuracy::standard && is_floating(accumulator);
  rounds_output_ = output_roundoff_ > accumulator_roundoff_ || more_than_standard;
  const bool complex = is_complex(accumulator);
  const std::int64_t scales = (description.row_scales ? 1 : 0) + (description.column_scales ? 1 : 0);
  const std::int64_t depth = complex ? 2 * description.k + 4 : description.k + 3 + scales;
  // The oracle's own sum is off by at most gamma_k of its own roundoff (double, or its square for Dot2).
  const double own = accumulator_roundoff_ < 0x1p-30 || more_than_standard ? 0x1p-104 : 0x1p-53;
  const double of_sum = gamma(depth, accumulator_roundoff_);
  relative_ = (!more_than_standard                 ? of_sum
               : accuracy == Accuracy::compensated ? of_sum * of_sum
                                                   : 0) +
              gamma(depth, own);
  beyond_gamma_ = error_beyond_gamma(accuracy, description.types.input);
  rounds_factors_ = beyond_gamma_ > 0 && description.types.input == ElementType::f32;
  const double stretch = std::max(1.0, std::fabs(alpha_.real()) + std::fabs(alpha_.imag()));
  // More than standard is summed in f64.
  const ElementType sums = more_than_standard ? ElementType::f64 : accumulator;
  underflow_ = static_cast<double>(depth) * smallest_positive(sums) * stretch;
  output_underflow_ = smallest_positive(output_) / 2;
  accumulator_limit_ = largest_finite(sums);
  output_limit_ = largest_finite(output_) * (1 + (rounds_output_ ? output_roundoff_ / 2 : 0));
  for (const double part : {alpha_.real(), alpha_.imag(), beta_.real(), beta_.imag()})
    exact_ = exact_ && multiple_of_quarter(part);
}

DueElement ErrorBound::due(const ElementInput& input) const {
  // Zero alpha and beta keep what they multiply out of the value, NaN included.
  DoubleDouble real{input.bias.real(), 0};
  DoubleDouble imaginary{input.bias.imag(), 0};
  // A magnitude measures what finite numbers can do to each other; an operand's own Inf or NaN has a sure effect.
  const auto size_of = [](double x) { return std::isfinite(x) ? std::fabs(x) : 0.0; };
  double real_magnitude = size_of(input.bias.real());
  double imaginary_magnitude = size_of(input.bias.imag());
  const auto add = [](DoubleDouble& z, double& magnitude, double scale, const DoubleDouble& term, double size) {
    if (scale == 0) return;
    // Infinities must not meet the error-free transformations, whose differences would turn them into NaN.
    const double plain = z.hi + scale * term.hi;
    z = std::isfinite(plain) ? z + term * scale : DoubleDouble{plain, 0};
    magnitude += std::fabs(scale) * size;
  };
  if (has_beta_) {
    const DoubleDouble c_real{input.c_before.real(), 0};
    const DoubleDouble c_imaginary{input.c_before.imag(), 0};
    add(real, real_magnitude, beta_.real(), c_real, size_of(c_real.hi));
    add(real, real_magnitude, -beta_.imag(), c_imaginary, size_of(c_imaginary.hi));
    add(imaginary, imaginary_magnitude, beta_.real(), c_imaginary, size_of(c_imaginary.hi));
    add(imaginary, imaginary_magnitude, beta_.imag(), c_real, size_of(c_real.hi));
  }
  if (!has_alpha_) return {component(real, real_magnitude, {}), component(imaginary, imaginary_magnitude, {})};
  Scaled of_real = scaled(input.real, input);
  Scaled of_imaginary = scaled(input.imaginary, input);
  add(real, real_magnitude, alpha_.real(), of_real.sum, of_real.magnitude);
  add(real, real_magnitude, -alpha_.imag(), of_imaginary.sum, of_imaginary.magnitude);
  add(imaginary, imaginary_magnitude, alpha_.real(), of_imaginary.sum, of_imaginary.magnitude);
  add(imaginary, imaginary_magnitude, alpha_.imag(), of_real.sum, of_real.magnitude);
  // alpha times the sum takes both components: where one overflows, 0 * Inf makes the other NaN.
  of_real.magnitude = of_imaginary.magnitude = std::max(of_real.magnitude, of_imaginary.magnitude);
  of_real.largest = of_imaginary.largest = std::max(of_real.largest, of_imaginary.largest);
  return {component(real, real_magnitude, of_real), component(imaginary, imaginary_magnitude, of_imaginary)};
}

ErrorBound::Scaled ErrorBound::scaled(const InnerProduct& product, const ElementInput& input) const {
  Scaled result{product.sum, product.magnitude, product.magnitude};
  for (const double scale : {input.row_scale, input.column_scale}) {
    const double plain = result.sum.hi * scale;
    result.sum = std::isfinite(plain) ? result.sum * scale : DoubleDouble{plain, 0};
    if (!std::isfinite(scale)) continue;  // as with an operand's own: a sure effect
    result.magnitude *= std::fabs(scale);
    result.largest *= std::max(1.0, std::fabs(scale));
    result.stretch *= std::max(1.0, std::fabs(scale));
  }
  // Inf times what may be zero, or of either sign.
  const bool has_infinity = std::isinf(input.row_scale) || std::isinf(input.column_scale);
  const double least =
      std::fabs(product.sum.hi) * std::min({1.0, std::fabs(input.row_scale), std::fabs(input.column_scale)});
  const double doubt = relative() * product.magnitude + underflow_;
  result.is_unsure = has_infinity && product.magnitude > 0 && input.row_scale != 0 && input.column_scale != 0 &&
                     (std::fabs(product.sum.hi) <= doubt || least <= underflow_);
  return result;
}

Due ErrorBound::component(DoubleDouble z, double magnitude, const Scaled& of) const {
  Due due{.value = z, .magnitude = magnitude};
  const double largest = std::max(magnitude, of.largest);
  due.may_overflow = of.is_unsure || !(largest * (1 + relative()) < accumulator_limit_);
  // Where a factor may be rounded to zero, Inf times it may be NaN.
  if (rounds_factors_ && std::isinf(z.hi)) due.may_overflow = true;
  // Quarters of integers below 2^(p-3) leave every partial result exact.
  if (exact_ && largest * accumulator_roundoff_ < 0x1p-3) {
    due.value = {round_to(output_, activation_ == Activation::relu ? std::max(z.hi, 0.0) : z.hi), 0};
    return due;
  }
  due.reach = relative_ * magnitude + beyond_gamma_ * std::abs(alpha_) * of.magnitude + underflow_ * of.stretch;
  activate(due);
  due.tolerance = due.reach;
  if (rounds_output_) due.tolerance += output_roundoff_ * (std::fabs(due.value.hi) + due.reach) + output_underflow_;
  return due;
}

void ErrorBound::activate(Due& due) const {
  const double x = due.value.hi;
  if (activation_ == Activation::relu && x <= 0) due.value = {0, 0};
  if (activation_ != Activation::gelu || std::isnan(x)) return;
  const long double wide = static_cast<long double>(x) + static_cast<long double>(due.value.lo);
  if (x == -HUGE_VAL) {
    // The formula says -Inf * 0 = NaN, its limit is 0; both are fair.
    due = {.value = {0, 0}, .magnitude = due.magnitude, .may_overflow = true};
    return;
  }
  const long double result = wide * std::erfc(-wide / std::numbers::sqrt2_v<long double>) / 2;
  due.value.hi = static_cast<double>(result);
  due.value.lo = std::isfinite(x) ? static_cast<double>(result - static_cast<long double>(due.value.hi)) : 0;
  due.reach = gelu_slope * due.reach + gelu_roundings * accumulator_roundoff_ * std::fabs(x);
}

}  // namespace exactile::verification
