// SPDX-License-Identifier: Apache-2.0
/// \file What routines' letters and CBLAS's numbers mean, and the checks of parameters in the reference's order.
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>

#include "blas/errors.hpp"
#include "blas/product.hpp"

namespace exactile::blas {

/// CBLAS's numbers; a routine takes ints, since a program may pass anything.
enum : int {
  row_major = 101,
  column_major = 102,
  no_transpose = 111,
  transpose = 112,
  conjugate_transpose = 113,
  upper = 121,
  lower = 122,
  non_unit = 131,
  unit = 132,
  left = 141,
  right = 142,
};

/// The upper-case letter that a parameter begins with.
[[nodiscard]] constexpr char letter(const char* text) noexcept {
  return *text >= 'a' && *text <= 'z' ? static_cast<char>(*text - ('a' - 'A')) : *text;
}

/// How CBLAS hands over numbers and matrices: complex ones by void pointers, arrays of pointers to them alike.
template <class T>
struct Passed {
  using Number = T;
  using Input = const T*;
  using Output = T*;
  using Numbers = const T*;
  using Inputs = const T* const*;
  using Outputs = T* const*;
  static T number(T x) noexcept { return x; }
};
template <class T>
struct Passed<std::complex<T>> {
  using Number = const void*;
  using Input = const void*;
  using Output = void*;
  using Numbers = const void*;
  using Inputs = const void* const*;
  using Outputs = void* const*;
  static std::complex<T> number(const void* x) noexcept { return *static_cast<const std::complex<T>*>(x); }
};
template <class T>
[[nodiscard]] const T* elements(const void* matrix) noexcept {
  return static_cast<const T*>(matrix);
}
template <class T>
[[nodiscard]] T* elements(void* matrix) noexcept {
  return static_cast<T*>(matrix);
}

[[nodiscard]] constexpr std::optional<Op> op_of(char letter) noexcept {
  switch (letter) {
    case 'N': return Op::plain;
    case 'T': return Op::transposed;
    case 'C': return Op::conjugated;
    default: return std::nullopt;
  }
}

/// The letter of an operation that has one.
[[nodiscard]] constexpr char letter(Op op) noexcept { return op == Op::plain ? 'N' : op == Op::transposed ? 'T' : 'C'; }

[[nodiscard]] constexpr std::optional<Op> op_of(int number) noexcept {
  switch (number) {
    case no_transpose: return Op::plain;
    case transpose: return Op::transposed;
    case conjugate_transpose: return Op::conjugated;
    default: return std::nullopt;
  }
}

/// The operation that has the same meaning for the type: real numbers are their own conjugates.
template <class T>
[[nodiscard]] constexpr Op settled(Op op) noexcept {
  return !is_complex_v<T> && op == Op::conjugated ? Op::transposed : op;
}

/// Finds the first parameter that is wrong: Checks(name, rows).that(ok, number)...; is_bad() has then reported it.
class Checks {
 public:
  constexpr Checks& that(bool ok, int parameter) noexcept {
    if (!ok && parameter_ == 0) parameter_ = parameter;
    return *this;
  }
  /// The number of the first that is wrong; 0: none.
  [[nodiscard]] constexpr int wrong() const noexcept { return parameter_; }
  [[nodiscard]] bool is_bad(const char* name, int rows) const {
    if (parameter_ == 0) [[likely]]
      return false;
    report_parameter(name, parameter_, rows);
    return true;
  }

 private:
  int parameter_ = 0;
};

[[nodiscard]] constexpr bool holds(Size leading_dimension, Size rows) noexcept {
  return leading_dimension >= std::max<Size>(1, rows);
}

/// The order of a CBLAS call; where it is none, or one of the others is not, that has been reported.
[[nodiscard]] inline bool is_order(int order, const char* c_name) {
  if (order == row_major || order == column_major) [[likely]]
    return true;
  CBLAS_CallFromC = 1;
  cblas_xerbla(1, c_name, "Illegal Order setting, %d\n", order);
  CBLAS_CallFromC = 0;
  return false;
}

/// Reports that a CBLAS call's parameter is none of its numbers.
inline void illegal_setting(int parameter, const char* c_name, const char* what, int value, int order) {
  CBLAS_CallFromC = 1;
  RowMajorStrg = order == row_major ? 1 : 0;
  cblas_xerbla(parameter, c_name, what, value);
  CBLAS_CallFromC = 0;
  RowMajorStrg = 0;
}

}  // namespace exactile::blas
