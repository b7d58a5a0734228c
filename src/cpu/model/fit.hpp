// SPDX-License-Identifier: Apache-2.0
/// \file From measured products to rates.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "cpu/model/cost.hpp"
#include "exactile/tuning.hpp"

namespace exactile::cpu {

/// A product and the kernels that were timed on it.
struct TimedProduct {
  struct Kernel {
    RatesKey key;
    Demand demand;
    Demand alone;  ///< of the product alone(), for the choice between orders of sums
    double seconds;
    bool competes;  ///< could be chosen: gives way to none but for the sake of an order
  };
  GemmTypes types;
  bool is_fitted_to;
  bool sums_differ;  ///< kernels leave different bits, see order_of_sums.hpp
  std::vector<Kernel> kernels;
};

struct FittedRates {
  RatesKey key;
  Rates rates;
};

/// For each key that has samples enough, the rates with the least mean of |log(estimated / measured)|, which a few
/// outliers do not spoil. Kernels far behind the fastest count for less.
[[nodiscard]] std::vector<FittedRates> fit(const std::vector<TimedProduct>& products);

/// How near choices by those rates are to the fastest, on products that were not fitted to.
[[nodiscard]] std::vector<ChoiceQuality> quality_of(const std::vector<TimedProduct>& products,
                                                    const std::vector<FittedRates>& fitted);

}  // namespace exactile::cpu
