// SPDX-License-Identifier: Apache-2.0
/// \file numpy.matmul's rules on top of the library's products.
#pragma once

#include <optional>

#include "view.hpp"

namespace exactile::python {

/// The extents of a @ b, by numpy.matmul's rules.
struct Shape {
  int dimensions = 0;
  std::array<std::int64_t, most_dimensions> extents;
  Shape() noexcept {}  // NOLINT(cppcoreguidelines-pro-type-member-init)
  [[nodiscard]] std::span<const std::int64_t> span() const {
    return {extents.data(), static_cast<std::size_t>(dimensions)};
  }
};

/// Raises ValueError where the shapes do not fit.
[[nodiscard]] Shape result_shape(const View& a, const View& b);

/// An axis of a stack of matrices with its steps in A, B and C, in elements.
struct StackAxis {
  std::int64_t extent, a, b, c;
};

/// A stack of products as the library takes it: one description, and the axes that no batch stride can express.
struct Stack {
  GemmDescription description;
  int axes = 0;
  std::array<StackAxis, most_dimensions> outer;
  Stack() noexcept {}  // NOLINT(cppcoreguidelines-pro-type-member-init)
};

/// c has the shape that result_shape() says; raises ValueError where it has not.
[[nodiscard]] Stack stack_of(const View& a, const View& b, const View& c);

/// What a call says beyond its arrays.
struct Request {
  GemmOptions options;
  Execution execution;
  std::optional<View> bias, row_scales, column_scales;
  Activation activation = Activation::none;
  Scalar alpha = 1;
  Scalar beta = 0;
};

/// Adds the request's bias, activation and scales to the description; raises ValueError where their shapes do not fit.
void add_epilogue(GemmDescription& description, const Request& request);

/// The arguments of the run that begins at the first elements.
[[nodiscard]] GemmArguments arguments_of(const View& a, const View& b, const View& c, const Request& request);

/// c <- activation(alpha * a @ b + beta * c + bias). The GIL is released meanwhile.
void multiply(const View& a, const View& b, const View& c, const Request& request);

/// Sends a product to where its operands lie: to the CUDA device that has `c`.
void place(GemmOptions& options, const View& c);

}  // namespace exactile::python
