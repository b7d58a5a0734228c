// SPDX-License-Identifier: Apache-2.0
#include "measure/summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace exactile::measure {
namespace {

/// The value at fraction `f` of a sorted, non-empty list, interpolated between neighbours.
double quantile(const std::vector<double>& sorted, double f) {
  const double place = f * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  Summary summary{.median = quantile(samples, 0.5), .min = samples.front()};
  if (summary.median > 0) summary.spread = (quantile(samples, 0.75) - quantile(samples, 0.25)) / summary.median;
  return summary;
}

}  // namespace exactile::measure
