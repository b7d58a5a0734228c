// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is told of a list of samples.
#pragma once

#include <vector>

namespace exactile::measure {

struct Summary {
  double median = 0;
  double min = 0;
  double spread = 0;  ///< interquartile range over the median
};

/// All zero of an empty list.
[[nodiscard]] Summary summarize(std::vector<double> samples);

}  // namespace exactile::measure
