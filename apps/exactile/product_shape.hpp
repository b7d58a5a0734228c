// SPDX-License-Identifier: Apache-2.0
/// \file NumPy matmul's rules: which products two arrays mean, and how each operand is walked without copying it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace exactile::program {

/// An array of a file: its name for messages, its extents and its strides in elements.
struct ArrayLayout {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

/// How one operand is walked over the result's batch; stride 0 where it is broadcast.
struct OperandWalk {
  std::vector<std::int64_t> batch_strides;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

struct ProductShape {
  std::vector<std::int64_t> batch;  ///< extents of the broadcast batch, outermost first
  std::int64_t batch_count = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::vector<std::int64_t> result;  ///< the shape of C, without the dimensions that vectors gained
  OperandWalk a;
  OperandWalk b;
};

/// Vectors are promoted and demoted, batch dimensions broadcast from the right. `transpose_*` swaps the last two
/// dimensions. Throws Failure (bad input) that names both arrays and shapes where they do not fit.
[[nodiscard]] ProductShape match_shapes(ArrayLayout a, ArrayLayout b, bool transpose_a, bool transpose_b);

/// The one stride that walks the whole batch in C order, where there is one.
[[nodiscard]] std::optional<std::int64_t> single_stride(const std::vector<std::int64_t>& batch,
                                                        const std::vector<std::int64_t>& batch_strides);

}  // namespace exactile::program
