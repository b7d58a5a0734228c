// SPDX-License-Identifier: Apache-2.0
/// \file
/// One product, every contender: check, time, compare.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comparison/operands.hpp"
#include "measure/rounds.hpp"

namespace exactile::comparison {

struct NamedContender {
  std::string name;
  std::unique_ptr<Contender> contender;
};

struct ContenderResult {
  std::string name;
  bool ran = false;         ///< false where the library has no call for this product, or is too slow
  std::string error = {};   ///< not empty where its result is wrong, or a call of a rival failed: it is then not timed
  double norm_error = 0;    ///< in the Frobenius norm
  std::string kernel = {};  ///< where the contender names what it chose
  measure::Summary seconds = {};
  measure::Ratio ratio = {};  ///< its time over the first contender's; 0 where that did not run
};

struct ComparisonLimits : measure::RoundLimits {
  /// Contenders other than the first whose one call takes longer are not timed.
  double longest_call_seconds = 5;
  bool rotates = false;  ///< every product on sets of operands that leave the caches, not vector-like ones alone
};

struct ComparisonResult {
  std::vector<ContenderResult> results;  ///< one for each contender, in their order
  int rounds = 0;
};

/// `contenders` in the order of a round; each multiplies the same operands, in the context's memory, in the host's
/// where that is null. Before it is timed each result is checked: C is filled with NaN (integers: -1), and after one
/// call it must lie within the bound of the product's accuracy, or of the plain loop's where that is the larger. Throws
/// std::runtime_error where a call of the first contender fails.
[[nodiscard]] ComparisonResult compare(const std::vector<NamedContender>& contenders, const Product& product,
                                       const ComparisonLimits& limits, const Context* context);

}  // namespace exactile::comparison
