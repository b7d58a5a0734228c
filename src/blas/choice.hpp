// SPDX-License-Identifier: Apache-2.0
/// \file Which of the routines that are ours another BLAS does all the same: those that an OpenBLAS behind this library
/// was measured to do faster on this instruction set (openblas.inc). EXACTILE_BLAS_OWN=1 keeps all of them here.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "blas/product.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {

enum class Stem : std::uint8_t { gemm, gemv, symm, hemm, syrk, herk, syr2k, her2k, trmm, trsm };

/// The sizes of the product, of ?gemv's two.
struct Sizes {
  Size m;
  Size n;
  Size k = 0;
};

namespace choice {

inline constexpr std::array<std::string_view, 10> stems{"gemm", "gemv",  "symm",  "hemm", "syrk",
                                                        "herk", "syr2k", "her2k", "trmm", "trsm"};

template <class T>
inline constexpr char type_letter = is_complex_v<T> ? (sizeof(T) == 8 ? 'c' : 'z') : (sizeof(T) == 4 ? 's' : 'd');

/// Orders of the matrices that were measured, each four times the last. A call counts as the one nearest to its largest
/// matrix: what lies in the caches decides, and updates with few terms are no faster than squares.
inline constexpr std::array<Size, 5> measured_sizes{4, 16, 64, 256, 1024};
/// Widths of panels that were measured, each twice the last: products of 1024 rows, so many columns and as many terms,
/// that LAPACK's factorizations are made of.
inline constexpr std::array<Size, 5> measured_widths{1, 2, 4, 8, 16};

/// A routine's time in OpenBLAS over ours, of each size or width.
struct Measured {
  std::string_view routine;
  Vectors vectors;
  std::array<double, 5> ratios;
};
#define EXACTILE_MEASURED(routine, isa, ...) Measured{#routine, Vectors::isa, {__VA_ARGS__}},
#define EXACTILE_MEASURED_PANELS(...)
inline constexpr std::array measured{
#include "blas/openblas.inc"
};
#undef EXACTILE_MEASURED
#undef EXACTILE_MEASURED_PANELS
#define EXACTILE_MEASURED(...)
#define EXACTILE_MEASURED_PANELS(routine, isa, ...) Measured{#routine, Vectors::isa, {__VA_ARGS__}},
inline constexpr std::array measured_panels{
#include "blas/openblas.inc"
};
#undef EXACTILE_MEASURED
#undef EXACTILE_MEASURED_PANELS

/// What lies between this and 1 is within the noise of the measurement.
inline constexpr double parity = 0.95;

[[nodiscard]] constexpr bool is_routine(std::string_view name, char letter, std::string_view stem) noexcept {
  return name.front() == letter && name.substr(1) == stem;
}

/// Which sizes the other does faster; bit s stands for measured_sizes[s] or measured_widths[s].
[[nodiscard]] constexpr unsigned faster_sizes(const Measured& row) noexcept {
  unsigned sizes = 0;
  for (std::size_t s = 0; s < row.ratios.size(); ++s)
    if (row.ratios[s] < parity) sizes |= 1U << s;
  return sizes;
}

/// The bit of a call whose largest matrix has so many elements.
[[nodiscard]] constexpr unsigned size_bit(double elements) noexcept {
  unsigned bit = 1;
  for (std::size_t s = 0; s + 1 < measured_sizes.size(); ++s) {
    const auto between = static_cast<double>(2 * measured_sizes[s]);
    if (elements >= between * between) bit = 2U << s;
  }
  return bit;
}

/// Of columns and terms; 0 of what is no panel.
[[nodiscard]] constexpr Size width_of_panel(Size m, Size n, Size k) noexcept {
  const Size width = std::max(std::min(m, n), k);
  return width < 3 * measured_widths.back() / 2 && std::max(m, n) >= 8 * width ? width : 0;
}

/// The bit of a panel.
[[nodiscard]] constexpr unsigned width_bit(Size width) noexcept {
  unsigned bit = 1;
  for (std::size_t s = 0; s + 1 < measured_widths.size(); ++s)
    if (2 * width >= 3 * measured_widths[s]) bit = 2U << s;
  return bit;
}

/// On one instruction set at least, for one size.
template <class T, Stem stem>
inline constexpr bool may_be_faster_elsewhere = [] {
  for (const std::span<const Measured> rows : {std::span<const Measured>(measured), {measured_panels}})
    for (const Measured& row : rows)
      if (faster_sizes(row) != 0 && is_routine(row.routine, type_letter<T>, stems[static_cast<std::size_t>(stem)]))
        return true;
  return false;
}();

/// For which sizes an OpenBLAS is the faster one; none where it was not measured on this processor's instruction set.
[[nodiscard]] unsigned sizes_faster_elsewhere(std::span<const Measured> rows, char letter,
                                              std::string_view stem) noexcept;

/// Whether it is for these.
template <class T, Stem stem>
[[nodiscard]] bool is_faster_elsewhere(const Sizes& sizes) noexcept {
  constexpr char letter = type_letter<T>;
  constexpr std::string_view name = stems[static_cast<std::size_t>(stem)];
  if constexpr (stem == Stem::gemm) {
    static const unsigned faster_panels = sizes_faster_elsewhere(measured_panels, letter, name);
    if (const Size width = width_of_panel(sizes.m, sizes.n, sizes.k); width > 0)
      return (faster_panels & width_bit(width)) != 0;
  }
  static const unsigned faster = sizes_faster_elsewhere(measured, letter, name);
  const auto m = static_cast<double>(sizes.m);
  const auto n = static_cast<double>(sizes.n);
  const auto k = static_cast<double>(sizes.k);
  return (faster & size_bit(std::max({m * n, m * k, n * k}))) != 0;
}

/// The routine of the OpenBLAS behind this library, which is opened; null where another library is there, or none, or
/// an OpenBLAS with kernels of lesser instructions.
[[nodiscard]] void* routine_elsewhere(char letter, std::string_view stem) noexcept;

/// Names who does it in this thread's report.
void report_fallback() noexcept;

/// An argument as Fortran takes it: integers of 32 bits, all by address.
template <class A>
[[nodiscard]] constexpr auto fortran_value(A argument) noexcept {
  if constexpr (std::is_same_v<A, Size>)
    return static_cast<std::int32_t>(argument);
  else
    return argument;
}
template <class A>
[[nodiscard]] constexpr bool fits(A argument) noexcept {
  using Limits = std::numeric_limits<std::int32_t>;
  if constexpr (std::is_same_v<A, Size>) return argument >= Limits::min() && argument <= Limits::max();
  return true;
}
template <class A>
[[nodiscard]] const void* address(const A& value) noexcept {
  if constexpr (std::is_pointer_v<A>)
    return value;
  else
    return &value;
}

template <class... Values>
void call_fortran(void* routine, Values... values) {
  using Length = std::size_t;  // of strings, behind the arguments; none has more than four
  using Routine = void (*)(decltype(address(values))..., Length, Length, Length, Length);
  reinterpret_cast<Routine>(routine)(address(values)..., 1, 1, 1, 1);
}

}  // namespace choice

/// Does the routine by the other BLAS where that is faster; false where nothing has happened. `arguments` are those of
/// the Fortran routine: letters, sizes, numbers, matrices.
template <class T, Stem stem, class... Arguments>
[[nodiscard]] inline bool done_elsewhere([[maybe_unused]] const Sizes& sizes, Arguments... arguments) {
  if constexpr (choice::may_be_faster_elsewhere<T, stem>) {
    if (!choice::is_faster_elsewhere<T, stem>(sizes) || !(choice::fits(arguments) && ...)) return false;
    // Only now: opening an OpenBLAS starts its threads.
    static void* const routine =
        choice::routine_elsewhere(choice::type_letter<T>, choice::stems[static_cast<std::size_t>(stem)]);
    if (routine == nullptr) return false;
    choice::report_fallback();
    choice::call_fortran(routine, choice::fortran_value(arguments)...);
    return true;
  } else {
    return false;
  }
}

}  // namespace exactile::blas
