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
[[nodiscard]] std::optional<Fill> parse_fill(std::string_view name) noexcept;
[[nodiscard]] std::vector<Fill> fills_for(ElementType type);  ///< those that mean something for the type

/// Which operand a fill is for: A's rows and B's columns are what wide_range scales and special_values poisons, and
/// cancelling needs A and B to match. Operands filled from one seed differ by their part.
enum class Part : std::uint8_t { a, b, c };

/// Fills rows x columns elements of any type and layout; element (i, j) of matrix p depends on (seed, part, p, i, j)
/// alone. In a pointer array `data` is the array.
void fill(Fill kind, std::uint64_t seed, ElementType type, std::int64_t rows, std::int64_t columns,
          const OperandLayout& layout, std::int64_t count, void* data, Part part = Part::a);

/// How far a computed C is from alpha*A*B + beta*C_before (+ epilogue), element by element.
struct ErrorReport {
  bool passed = true;             ///< every element within its bound; no NaN where a number was due or the reverse
  double max_relative_error = 0;  ///< max |C^ - C| / |C| over the elements with C != 0
  double error_in_u = 0;  ///< max |C^ - C| / (u * M), M = |alpha||A||B| + |beta||C_before| + |bias|: how many roundings
                          ///< of all that was added; u of the type that sums, or of C's where that is narrower
  double norm_error = 0;  ///< |C^ - C| / |C| in the Frobenius norm, over the rows that were checked
  double error_over_bound = 0;    ///< max |C^ - C| / bound; the bound is computed from u, k and |A||B|; <= 1 passes
  std::int64_t rows_checked = 0;  ///< of how many rows (over all products) the exact result was formed
  std::string failure;            ///< the first failing element with both values; "" when passed
};

/// Compares, within the bound of `accuracy`, against a product formed in higher precision (f64 for f32 and narrower,
/// double-double for f64 and cf64, modular integers for integers). Where m*n*k*batch is above `work_limit` only a
/// sample of rows is formed, first and last of each product among them. `c_before` is laid out as C is (an array of
/// pointers where C's layout says so) and may be null when beta is zero. A and B are not read when alpha is zero.
[[nodiscard]] ErrorReport compare(const GemmDescription& description, const GemmArguments& arguments,
                                  const void* c_before, Accuracy accuracy = Accuracy::standard,
                                  double work_limit = 2e8);

/// Freivalds: |C x - (alpha A (B x) + beta C_before x)| against its bound for random vectors x of +-1, in O(mn+mk+nk).
/// Floating and integer types; with an activation nothing is checked (rows_checked is 0), and rows that hold special
/// values or come near the end of the range are left to compare().
[[nodiscard]] ErrorReport residual(const GemmDescription& description, const GemmArguments& arguments,
                                   const void* c_before, std::uint64_t seed, Accuracy accuracy = Accuracy::standard);

/// One test: description and options say what runs, fill and seed say on what.
struct Case {
  GemmDescription description;  ///< strides as given; the layouts' storage is made by run_case
  GemmOptions options = {};
  Scalar alpha = 1;
  Scalar beta = 0;
  Fill fill = Fill::normal;
  std::uint64_t seed = 1;
};

/// How the operands of a case lie in a device's memory. `apart`: each in an allocation of its own, where NVIDIA's
/// compute-sanitizer sees what reads past it. `together`: one behind another in memory that the process keeps, where
/// what reads past an operand meets NaN; allocating and copying take longer than all else of a small case.
enum class Placement : std::uint8_t { apart, together };

/// Makes guarded operands (with Memory::device, on the backend's device), poisons C with NaN (or a pattern, for
/// integers), runs the product through the public API and applies every oracle that fits; writes outside C's elements
/// or into A, B, the bias or the scales are failures. Reads outside the operands end the process: they meet an
/// inaccessible page. A Status that is not ok is trouble before the check (unknown kernel, no memory, ...).
[[nodiscard]] Result<ErrorReport> run_case(const Case& test, Placement placement = Placement::apart);

/// The one line that runs this case again: "exactile verify --m 3 --n 5 ...". Beside --m --n --k --type --backend
/// --kernel --accuracy --threads --memory --device --parameters --fill --seed it may use, where they are not the
/// default:
///   --alpha X, --beta X               a complex one as RE,IM
///   --batch N
///   --layout-a R,C[,B]  (-b, -c)      strides of row, column and batch; "pointers" for B makes a pointer array.
///                                     The default is row-major, contiguous, one matrix behind another
///   --bias per_row|per_column, --row-scales, --column-scales, --activation relu|gelu
[[nodiscard]] std::string reproducer(const Case& test);

}  // namespace exactile::verification
