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

/// All parts of one cut; the longer ones come first. Divides once, for loops that ask for part after part.
class Parts {
 public:
  Parts(std::int64_t size, std::int64_t parts) : base_(size / parts), extra_(size % parts) {}
  [[nodiscard]] Range part(std::int64_t index) const {
    const std::int64_t begin = index * base_ + std::min(index, extra_);
    return {begin, begin + base_ + (index < extra_ ? 1 : 0)};
  }

 private:
  std::int64_t base_;
  std::int64_t extra_;
};

[[nodiscard]] inline Range part_of(std::int64_t size, std::int64_t parts, std::int64_t index) {
  return Parts(size, parts).part(index);
}

}  // namespace exactile::cpu
