// SPDX-License-Identifier: Apache-2.0
/// \file The description of products of row-major matrices without gaps.
#pragma once

#include "exactile/plan.hpp"

namespace exactile::test {

[[nodiscard]] inline GemmDescription row_major(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k,
                                               std::int64_t batch = 1) {
  return {.types = types,
          .m = m,
          .n = n,
          .k = k,
          .a = {k, 1, m * k},
          .b = {n, 1, k * n},
          .c = {n, 1, m * n},
          .batch_count = batch};
}

}  // namespace exactile::test
