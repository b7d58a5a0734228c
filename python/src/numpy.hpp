// SPDX-License-Identifier: Apache-2.0
/// \file NumPy's arrays through its C interface, which is looked up when the first of them comes by: the package works
/// without NumPy.
#pragma once

#include "view.hpp"

namespace exactile::python {

/// Whether this is a numpy.ndarray and no object of a class derived from it.
[[nodiscard]] bool is_numpy(nb::handle object);

/// Describes a NumPy array. False where it must be converted before it can be multiplied: another byte order, elements
/// that are not aligned, strides that are no multiple of the element's size, a type that the library does not have.
[[nodiscard]] bool view_numpy(nb::handle array, View& view);

/// The same for two arrays of one type.
[[nodiscard]] bool view_numpy_pair(nb::handle a, nb::handle b, View& view_a, View& view_b);

/// For a product of `a`, whose elements are `input`: true for a NumPy array that the library can write to, of a's type
/// or of one that keeps all of it, and for None where the library leaves a's type, or float32 of 8-bit floats.
[[nodiscard]] bool view_numpy_out(nb::handle a, ElementType input, nb::handle out, View& view);

/// A new NumPy array for the product of such a pair, its elements not set.
[[nodiscard]] nb::object new_numpy(nb::handle a, std::span<const std::int64_t> shape, View& view);

/// What NumPy's functions answer: the number itself in place of an array without dimensions.
[[nodiscard]] nb::object number_if_alone(nb::object array, const View& view);

}  // namespace exactile::python
