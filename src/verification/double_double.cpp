// SPDX-License-Identifier: Apache-2.0
#include "verification/double_double.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define EXACTILE_VERIFICATION_X86 1
#endif

namespace exactile::verification {
namespace {

[[gnu::always_inline]] inline void plain_body(std::int64_t n, double a, const double* __restrict b,
                                              double* __restrict sum, double* __restrict magnitude) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double product = a * b[j];
    sum[j] += product;
    magnitude[j] += std::fabs(product);
  }
}

[[gnu::always_inline]] inline void compensated_body(std::int64_t n, double a, const double* __restrict b,
                                                    double* __restrict hi, double* __restrict lo,
                                                    double* __restrict magnitude) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double product = a * b[j];
    const double product_error = __builtin_fma(a, b[j], -product);
    const double before = hi[j];
    const double sum = before + product;
    const double part = sum - before;
    hi[j] = sum;
    lo[j] += ((before - (sum - part)) + (product - part)) + product_error;
    magnitude[j] += std::fabs(product);
  }
}

void plain_anywhere(std::int64_t n, double a, const double* b, double* sum, double* magnitude) {
  plain_body(n, a, b, sum, magnitude);
}
void compensated_anywhere(std::int64_t n, double a, const double* b, double* hi, double* lo, double* magnitude) {
  compensated_body(n, a, b, hi, lo, magnitude);
}

#ifdef EXACTILE_VERIFICATION_X86
// Without these, fma() is a call into the C library for every term.
__attribute__((target("avx2,fma"))) void plain_avx2(std::int64_t n, double a, const double* b, double* sum,
                                                    double* magnitude) {
  plain_body(n, a, b, sum, magnitude);
}
__attribute__((target("avx2,fma"))) void compensated_avx2(std::int64_t n, double a, const double* b, double* hi,
                                                          double* lo, double* magnitude) {
  compensated_body(n, a, b, hi, lo, magnitude);
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
const auto plain_best = has_avx2() ? plain_avx2 : plain_anywhere;
const auto compensated_best = has_avx2() ? compensated_avx2 : compensated_anywhere;
#else
const auto plain_best = plain_anywhere;
const auto compensated_best = compensated_anywhere;
#endif

}  // namespace

void accumulate(std::int64_t n, double a, const double* b, double* sum, double* magnitude) {
  plain_best(n, a, b, sum, magnitude);
}

void accumulate_compensated(std::int64_t n, double a, const double* b, double* hi, double* lo, double* magnitude) {
  compensated_best(n, a, b, hi, lo, magnitude);
}

}  // namespace exactile::verification
