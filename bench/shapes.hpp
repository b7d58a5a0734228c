// SPDX-License-Identifier: Apache-2.0
/// \file
/// The shapes to time, as written on the command line or in a file.
#pragma once

#include <string>
#include <vector>

#include "rivals/contender.hpp"

namespace exactile::bench {

struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
};

struct ShapeGroup {
  std::string name;
  std::vector<Shape> shapes;
};

/// "MxNxK". Throws std::runtime_error.
[[nodiscard]] Shape parse_shape(const std::string& text);
/// "COUNTxMxNxK".
[[nodiscard]] Shape parse_batch(const std::string& text);
/// A file of shapes, one on each line, '#' before a comment; or the shapes themselves, with commas between them.
[[nodiscard]] ShapeGroup read_shapes(const std::string& file_or_list);

[[nodiscard]] std::string to_string(const Shape& shape);
/// Row-major, contiguous, as it stands.
[[nodiscard]] Product plain_product(const Shape& shape, GemmTypes types);

}  // namespace exactile::bench
