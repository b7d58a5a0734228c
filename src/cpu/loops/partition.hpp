// SPDX-License-Identifier: Apache-2.0
/// \file How rows, columns and products are cut into parts of nearly equal size.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"

namespace exactile::cpu {

/// Part `index` of [0, size) cut into `parts` whose sizes differ by at most one.
struct Range {
  std::int64_t begin;
  std::int64_t end;
};

[[nodiscard]] inline Range part_of(std::int64_t size, std::int64_t parts, std::int64_t index) {
  const std::int64_t base = size / parts;
  const std::int64_t extra = size % parts;
  const std::int64_t begin = index * base + std::min(index, extra);
  return {begin, begin + base + (index < extra ? 1 : 0)};
}

}  // namespace exactile::cpu
