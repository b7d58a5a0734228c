// SPDX-License-Identifier: Apache-2.0
/// \file
/// The oracles: is this product right, and how far is it from the exact one? Used by the program and by the tests;
/// knows the public headers and the reference loops only, and no kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exactile/plan.hpp"

namespace exactile::verification {

/// What the operands hold. Each names a way in which kernels go wrong.
enum class Fill : std::uint8_t {
  normal,          ///< N(0, 1)
  uniform,         ///< U[0, 1), as the write-ups use
  small_integers,  ///< so small that every order of summation is exact: compared bit for bit
  wide_range,      ///< N(0, 1) * 2^e with e spread over much of the type's range, by row of A and column of B
  cancelling,      ///< sums that nearly vanish, so that |A||B| is much larger than |AB|
  special_values,  ///< NaN, Inf, -0, subnormals and zeros among ordinary numbers
};

[[nodiscard]] std::string_view to_string(Fill fill) noexcept;
[[nodiscard]] std::vector<Fill> fills_for(ElementType type);  ///< those that mean something for the type

/// Fills rows x columns elements of any type and layout; element (i, j) of matrix p depends on (seed, p, i, j) alone.
void fill(Fill kind, std::uint64_t seed, ElementType type, std::int64_t rows, std::int64_t columns,
          const OperandLayout& layout, std::int64_t count, void* data);

/// How far a computed C is from alpha*A*B + beta*C_before (+ epilogue), element by element.
struct ErrorReport {
  bool passed = true;              ///< every element within its bound; no NaN where a number was due or the reverse
  double max_relative_error = 0;   ///< max |C^ - C| / |C| over the elements with C != 0
  double error_over_bound = 0;     ///< max |C^ - C| / bound; the bound is computed from u, k and |A||B|; <= 1 passes
  std::int64_t rows_checked = 0;   ///< of how many rows (over all products) the exact result was formed
  std::string failure;             ///< the first failing element with both values; "" when passed
};

/// Compares against a product formed in higher precision (f64 for f32 and narrower, double-double for f64 and cf64,
/// modular integers for integers). Where m*n*k*batch is above `work_limit` only a sample of rows is formed, first and
/// last of each product among them. `c_before` may be null when beta is zero.
[[nodiscard]] ErrorReport compare(const GemmDescription& description, const GemmArguments& arguments,
                                  const void* c_before, double work_limit = 2e8);

/// Freivalds: |C x - (alpha A (B x) + beta C_before x)| against its bound for random vectors x of +-1, in O(mn+mk+nk).
/// Floating and integer types without activation.
[[nodiscard]] ErrorReport residual(const GemmDescription& description, const GemmArguments& arguments,
                                   const void* c_before, std::uint64_t seed);

/// One test: description and options say what runs, fill and seed say on what.
struct Case {
  GemmDescription description;  ///< strides as given; the layouts' storage is made by run_case
  GemmOptions options;
  Scalar alpha = 1;
  Scalar beta = 0;
  Fill fill = Fill::normal;
  std::uint64_t seed = 1;
};

/// Makes guarded operands, poisons C with NaN (or a pattern, for integers), runs the product through the public API and
/// applies every oracle that fits. A Status that is not ok is trouble before the check (unknown kernel, no memory, ...).
[[nodiscard]] Result<ErrorReport> run_case(const Case& test);

/// The one line that runs this case again: "exactile verify --m 3 --n 5 ...".
[[nodiscard]] std::string reproducer(const Case& test);

}  // namespace exactile::verification
