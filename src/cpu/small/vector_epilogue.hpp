// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/arithmetic.hpp"
#include "exactile/plan.hpp"

namespace exactile::cpu {

/// What follows the sums, element by element.
template <class In, class Out>
struct VectorEpilogue {
  using Sum = Accumulator<In>;
  const GemmDescription& d;
  const GemmArguments& arguments;
  Sum alpha = arguments.alpha.template as<Sum>();
  Sum beta = arguments.beta.template as<Sum>();
  const Out* bias = static_cast<const Out*>(arguments.bias);
  const Sum* row_scales = d.row_scales ? static_cast<const Sum*>(arguments.row_scales) : nullptr;
  const Sum* column_scales = d.column_scales ? static_cast<const Sum*>(arguments.column_scales) : nullptr;

  void write(Sum sum, std::int64_t i, std::int64_t j, Out& element) const {
    if (row_scales != nullptr) sum = core::multiply(sum, row_scales[i]);
    if (column_scales != nullptr) sum = core::multiply(sum, column_scales[j]);
    Sum value = core::scaled(alpha, sum);
    if (beta != Sum{}) value = core::add_scaled(beta, static_cast<Sum>(element), value);
    if (d.bias != Bias::none) value = core::add(value, static_cast<Sum>(bias[d.bias == Bias::per_row ? i : j]));
    element = static_cast<Out>(core::activate(d.activation, value));
  }
  [[nodiscard]] bool is_plain() const {
    return alpha == Sum(1) && beta == Sum{} && row_scales == nullptr && column_scales == nullptr &&
           d.bias == Bias::none && d.activation == Activation::none;
  }
};

}  // namespace exactile::cpu
