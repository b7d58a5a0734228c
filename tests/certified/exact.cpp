// SPDX-License-Identifier: Apache-2.0
#include "certified/exact.hpp"

#include <algorithm>
#include <cmath>

namespace exactile::test {
namespace {

struct Digits {
  int precision;
  int last;  ///< exponent of the smallest positive number
};

Digits digits_of(ElementType type) {
  switch (type) {
    case ElementType::f16: return {11, -24};
    case ElementType::bf16: return {8, -133};
    case ElementType::f32:
    case ElementType::cf32: return {24, -149};
    default: return {53, -1074};
  }
}

/// Beyond the largest finite number.
bool overflows(ElementType type, double x) {
  switch (type) {
    case ElementType::f16: return std::fabs(x) >= 0x1p16;
    case ElementType::bf16:
    case ElementType::f32:
    case ElementType::cf32: return std::fabs(x) >= 0x1p128;
    default: return false;
  }
}

}  // namespace

ExactValue::ExactValue() {
  mpfr_init2(value_, 7000);
  mpfr_init2(absolute_, 7000);
  mpfr_init2(product_, 200);
  mpfr_init2(scaled_, 7000);
}

ExactValue::~ExactValue() {
  for (auto* number : {value_, absolute_, product_, scaled_}) mpfr_clear(number);
}

void ExactValue::set(const std::vector<Term>& terms) {
  special_ = 0;
  mpfr_set_zero(value_, 1);
  mpfr_set_zero(absolute_, 1);
  for (const Term& term : terms) {
    if (!std::isfinite(term.x) || !std::isfinite(term.y) || !std::isfinite(term.factor)) {
      const auto sign = [](double x) { return std::isfinite(x) && x != 0 ? std::copysign(1.0, x) : x; };
      special_ += sign(term.x) * sign(term.y) * sign(term.factor);
      continue;
    }
    mpfr_set_d(product_, term.x, MPFR_RNDN);
    mpfr_mul_d(product_, product_, term.y, MPFR_RNDN);
    mpfr_mul_d(product_, product_, term.factor, MPFR_RNDN);
    mpfr_add(value_, value_, product_, MPFR_RNDN);
    mpfr_abs(product_, product_, MPFR_RNDN);
    mpfr_add(absolute_, absolute_, product_, MPFR_RNDN);
  }
}

double ExactValue::rounded(ElementType type) {
  if (special_ != 0) return special_;
  if (mpfr_zero_p(value_) != 0) return 0;
  const Digits digits = digits_of(type);
  const long last = std::max<long>(mpfr_get_exp(value_) - digits.precision, digits.last);
  mpfr_mul_2si(scaled_, value_, -last, MPFR_RNDN);
  mpfr_rint(scaled_, scaled_, MPFR_RNDN);
  mpfr_mul_2si(scaled_, scaled_, last, MPFR_RNDN);
  const double result = std::copysign(mpfr_get_d(scaled_, MPFR_RNDN), mpfr_sgn(value_));
  return overflows(type, result) ? std::copysign(HUGE_VAL, result) : result;
}

double ExactValue::distance(double x) {
  mpfr_sub_d(scaled_, value_, x, MPFR_RNDN);
  return std::fabs(mpfr_get_d(scaled_, MPFR_RNDZ));
}

double ExactValue::magnitude() const { return std::fabs(mpfr_get_d(value_, MPFR_RNDA)); }

double ExactValue::absolute() const { return mpfr_get_d(absolute_, MPFR_RNDA); }

}  // namespace exactile::test
