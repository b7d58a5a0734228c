// SPDX-License-Identifier: Apache-2.0
/// \file
/// Geometric means over the shapes of a group.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report.hpp"

namespace exactile::bench {

struct GroupMean {
  std::string name;
  GemmTypes type;
  int shapes = 0;                           ///< with exactile and at least one rival
  double over_best = 0;                     ///< mean of exactile over the best rival of each shape
  double lowest = 0;                        ///< the worst shape
  double of_peak = 0;                       ///< 0 where the peak was not measured
  std::map<std::string, double> over_each;  ///< over each rival, where it ran
};

/// Groups in the order in which they first appear; layouts are left out.
[[nodiscard]] std::vector<GroupMean> group_means(const std::vector<Row>& rows, const Setting& setting);

/// The fastest contender that is not exactile; null where none ran.
[[nodiscard]] const Score* best_of_rivals(const Row& row, const Setting& setting);

}  // namespace exactile::bench
