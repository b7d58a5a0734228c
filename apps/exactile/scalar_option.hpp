// SPDX-License-Identifier: Apache-2.0
/// \file alpha and beta as a person writes them: 2, -0.5, 1e-3, 1+2j or 1,2.
#pragma once

#include <complex>
#include <string>

#include "exactile/plan.hpp"

namespace exactile::program {

struct ScalarOption {
  std::string name;  ///< "--alpha"
  std::string text;  ///< as given

  /// The value for a product of this type; throws Failure (bad usage) where it is no number or does not fit the type.
  [[nodiscard]] Scalar value(GemmTypes types) const;
};

}  // namespace exactile::program
