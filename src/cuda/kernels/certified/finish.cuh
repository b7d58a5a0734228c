// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums to elements of C, where that is certain; other elements are left as they are and listed. A warp takes 32
/// rows of a strip of columns.
#pragma once

#include "cuda/kernels/certified/parameters.cuh"
#include "cuda/kernels/certified/rounding.cuh"

namespace exactile::cuda::certified {

inline constexpr int finish_warps = 8;
inline constexpr int strip_columns = 16;

/// An element of C: where it is, and what belongs to it beside the sums.
template <class Out, int Parts>
class Place {
 public:
  __device__ Place(const Finish& f, std::int64_t product, std::int64_t row, std::int64_t column)
      : f_(f),
        line_(f.bias_kind == Bias::per_row ? row : column),
        c_(reinterpret_cast<Out*>(element(f, product)) +
           Parts * (row * f.c_layout.row_stride + column * f.c_layout.column_stride)) {}

  [[nodiscard]] __device__ Form form(int part) const {
    Form form;
    form.add(f_.alpha[0], part);
    const bool reads_c = f_.beta[0] != 0 || f_.beta[1] != 0;  // NaN is not zero
    if (reads_c) form.add_fixed(f_.beta[0], number_of(c_[part]));
    if constexpr (Parts == 2) {
      const double sign = part == 0 ? -1 : 1;
      if (f_.alpha[1] != 0) form.add(sign * f_.alpha[1], 1 - part);
      if (f_.beta[1] != 0) form.add_fixed(sign * f_.beta[1], number_of(c_[1 - part]));
    }
    if (f_.a.terms == 0) form.count = 0;
    if (f_.bias_kind != Bias::none) form.bias = number_of(static_cast<const Out*>(f_.bias)[line_ * Parts + part]);
    return form;
  }
  /// A number of Out's, Inf or NaN.
  __device__ void store(int part, double x) const {
    c_[part] = element_of<Out>(f_.relu && signbit(x) && !isnan(x) ? 0 : x);
  }

 private:
  /// A pointer array has addresses; else complex elements are two parts each.
  [[nodiscard]] static __device__ char* element(const Finish& f, std::int64_t product) {
    auto* const c = static_cast<char*>(f.c);
    if (f.c_layout.pointer_array) return reinterpret_cast<char* const*>(c)[product];
    return c + product * f.c_layout.batch_stride * static_cast<std::int64_t>(Parts * sizeof(Out));
  }

  const Finish& f_;
  std::int64_t line_;
  Out* c_;
};

/// Sums of an element with what they may be off by.
struct Sum {
  double high;
  double low;
  double error;
};

template <bool Extracts>
[[nodiscard]] __device__ inline Sum sum_of(const Finish& f, const Line& row, std::int64_t product, std::int64_t i,
                                           std::int64_t j) {
  const std::int64_t at = product * f.sums.product_stride + j * f.sums.pitch + i;
  Sum sum{f.sums.high[at], Extracts ? f.sums.low[at] : 0, 0};
  if (!f.trust.certifies) return sum;
  const Line& column = f.b.line(product, j);
  const bool exact = row.grain * column.grain <= f.trust.largest_grain && row.step * column.step > 0;
  if (!exact) sum.error = fma(f.trust.relative, row.norm * column.norm, f.trust.absolute);
  return sum;
}

/// False where it is not certain.
template <class Out, int Parts, bool Extracts>
[[nodiscard]] __device__ inline bool round_component(const Finish& f, const Form& form, const Sum (&sums)[Parts],
                                                     double& to) {
  if constexpr (!Extracts) {
    // Sums cannot leave the range of f64, nor can what follows: Inf and NaN come from elements.
    double all = form.bias;
    bool sure = true;
    for (int t = 0; t < form.count; ++t) {
      all += form.factor[t] * sums[form.sum[t]].high;
      sure = sure && isfinite(form.factor[t]);
    }
    for (int t = 0; t < form.fixed_count; ++t) all += form.fixed[t][0] * form.fixed[t][1];
    if (sure && !isfinite(all)) {
      to = all;
      return true;
    }
  }
  Interval value;
  for (int t = 0; t < form.count; ++t) {
    const Sum& sum = sums[form.sum[t]];
    value.add_product(form.factor[t], sum.high);
    if (Extracts) value.add_product(form.factor[t], sum.low);
    const double error = fabs(form.factor[t]) * sum.error;
    // What is uncertain stays so where the product underflows.
    value.error += form.factor[t] != 0 && sum.error != 0 ? fmax(error, 0x1p-1070) : error;
  }
  for (int t = 0; t < form.fixed_count; ++t) value.add_product(form.fixed[t][0], form.fixed[t][1]);
  value.add(form.bias);
  if (!f.trust.certifies) value.error = 0;
  return round_certainly<Out>(value, to);
}

/// The sum itself is the value.
template <class Out, bool Extracts>
[[nodiscard]] __device__ inline bool round_sum(const Sum& s, double& to) {
  const double sum = add_rn(s.high, s.low);
  const double below = Extracts ? lost_by(s.high, s.low, sum) : 0;
  to = sum;
  if (!isfinite(sum)) return !Extracts;  // sums of f32 cannot leave the range of f64
  const auto end = [&](double error) {
    if constexpr (sizeof(Out) < 4) return rounded_sum<Out>(sum, error);
    return static_cast<double>(static_cast<Out>(add_rn(sum, add_rn(below, error))));
  };
  to = end(-s.error);
  const double most = end(s.error);
  return to == most && signbit(to) == signbit(most);
}

/// One element; false where it is doubtful and C is as it was.
template <class Out, int Parts, bool Extracts>
__device__ bool finish_element(const Finish& f, const Line& row, std::int64_t product, std::int64_t i, std::int64_t j) {
  const Place<Out, Parts> place(f, product, i, j);
  Sum sums[Parts] = {};
  if (f.a.terms != 0) {
#pragma unroll
    for (int p = 0; p < Parts; ++p) sums[p] = sum_of<Extracts>(f, row, product, i, j * Parts + p);
  }
  if constexpr (Parts == 1) {
    if (f.is_plain) {
      double result = 0;
      if (!round_sum<Out, Extracts>(sums[0], result)) return false;
      place.store(0, result);
      return true;
    }
  }
  double results[Parts];
#pragma unroll
  for (int p = 0; p < Parts; ++p)
    if (!round_component<Out, Parts, Extracts>(f, place.form(p), sums, results[p])) return false;
#pragma unroll
  for (int p = 0; p < Parts; ++p) place.store(p, results[p]);
  return true;
}

template <class Out, int Parts, bool Extracts>
__global__ void __launch_bounds__(32 * finish_warps) finish_kernel(const __grid_constant__ Finish f) {
  const std::int64_t word = static_cast<std::int64_t>(blockIdx.x) * finish_warps + threadIdx.x / 32;
  if (word >= f.column_words) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t i = word * 32 + lane;
  const std::int64_t strips = (f.columns + strip_columns - 1) / strip_columns;
  for (std::int64_t index = blockIdx.y; index < strips * f.products; index += gridDim.y) {
    const std::int64_t product = index / strips;
    const std::int64_t first = index % strips * strip_columns;
    const std::int64_t end = min(first + strip_columns, f.columns);
    Line row{};
    if (f.trust.certifies && i < f.rows && f.a.terms != 0) row = f.a.line(product, i);
#pragma unroll 4
    for (std::int64_t j = first; j < end; ++j) {
      const bool done = i >= f.rows || finish_element<Out, Parts, Extracts>(f, row, product, i, j);
      const unsigned open = __ballot_sync(0xffffffff, !done);
      if (lane == 0 && open != 0)
        f.doubts[atomicAdd(f.doubt_count, 1U)] = {
            static_cast<std::uint32_t>(product * f.product_words + j * f.column_words + word), open};
    }
  }
}

}  // namespace exactile::cuda::certified
