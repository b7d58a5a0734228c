// SPDX-License-Identifier: Apache-2.0
/// \file
/// Factors of the rows of A and the columns of B.
#pragma once

#include "plan/problem.hpp"

namespace exactile::plan {

[[nodiscard]] inline bool has_scales(const GemmDescription& description) {
  return description.row_scales || description.column_scales;
}

[[nodiscard]] inline GemmDescription without_scales(GemmDescription description) {
  description.row_scales = false;
  description.column_scales = false;
  return description;
}

/// The description without what follows the sums: scales, bias, activation.
[[nodiscard]] inline GemmDescription sums_alone(GemmDescription description) {
  description = without_scales(description);
  description.bias = Bias::none;
  description.activation = Activation::none;
  return description;
}

/// The arguments that go with it, for a run that leaves the sums at `sums`.
[[nodiscard]] inline GemmArguments sums_alone(const GemmArguments& arguments, void* sums) {
  return {.a = arguments.a,
          .b = arguments.b,
          .c = sums,
          .prepared_a = arguments.prepared_a,
          .prepared_b = arguments.prepared_b};
}

}  // namespace exactile::plan
