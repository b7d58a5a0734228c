// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random products that nothing was fitted to.
#pragma once

#include <cstdint>
#include <vector>

#include "comparison/contender.hpp"

namespace exactile::bench {

using comparison::Layout;
using comparison::Product;

struct Sizes {
  std::int64_t least;
  std::int64_t most;
};

/// Sizes are drawn log-uniformly. Of 100 products 45 have sizes rounded to multiples of 64 and 30 to multiples of 8,
/// where a size is that large; half have a transposed B, a fifth a transposed A.
struct Population {
  std::uint64_t seed = 1;
  int count = 300;
  Sizes m{1, 8192};
  Sizes n{64, 16384};
  Sizes k{64, 16384};
  double most_terms = 0x1p33;  ///< m n k; larger products are drawn anew
};

/// The same products for a seed on every machine and for every type.
/// Throws std::runtime_error where the sizes leave no product below `most_terms`.
[[nodiscard]] std::vector<Product> draw_products(const Population& population, GemmTypes types);

}  // namespace exactile::bench
