// SPDX-License-Identifier: Apache-2.0
/// \file
/// One product, every contender: check, time, compare.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operands.hpp"
#include "rivals/contender.hpp"
#include "rounds.hpp"

namespace exactile::bench {

struct Entrant {
  std::string name;
  std::unique_ptr<Contender> contender;
};

struct Score {
  std::string name;
  bool ran = false;        ///< false where the library has no call for this product
  std::string error = {};  ///< not empty where its result is wrong; it is then not timed
  double over_bound = 0;   ///< the largest error of a sample, as a fraction of what is allowed
  double relative_error = 0;
  double norm_error = 0;  ///< in the Frobenius norm, of the sample
  Summary time = {};
  double gflops = 0;
  double ratio = 0;                      ///< the first entrant's speed over this one's, from the medians
  double ratio_first_entrant_first = 0;  ///< the same from the rounds that ran as listed
  double ratio_first_entrant_last = 0;   ///< and from those that ran the other way round
};

/// `entrants` in the order of a round; each multiplies the same operands.
/// Operands lie in the context's memory, in the host's where that is null.
[[nodiscard]] std::vector<Score> hold_contest(const std::vector<Entrant>& entrants, const Product& product,
                                              const RoundLimits& limits, const Context* context, Fill fill);

/// One library, several layouts of one product. The first is what the others are compared with.
struct Variant {
  std::string name;
  Product product;
};
[[nodiscard]] std::vector<Score> compare_layouts(const Contender& contender, const std::vector<Variant>& variants,
                                                 const RoundLimits& limits, const Context* context, Fill fill);

/// Plain, transposed, padded and strided, at one shape.
[[nodiscard]] std::vector<Variant> layouts_of(const Product& plain);

}  // namespace exactile::bench
