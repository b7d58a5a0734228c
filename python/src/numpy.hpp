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

/// Whether two NumPy arrays have one type, int64 and uint64 told apart.
[[nodiscard]] bool same_numpy_type(nb::handle a, nb::handle b);

/// A new NumPy array, its elements not set: of the type of `like`, or float32 where that has eight bits.
[[nodiscard]] nb::object new_numpy(nb::handle like, std::span<const std::int64_t> shape);

}  // namespace exactile::python
