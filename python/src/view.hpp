// SPDX-License-Identifier: Apache-2.0
/// \file An array of any library, as the product sees it.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "exactile/plan.hpp"

namespace exactile::python {

namespace nb = nanobind;

/// NumPy's own limit; other libraries have smaller ones.
inline constexpr int most_dimensions = 64;

/// Where the elements of an array lie. Strides count elements and may be zero or negative. Unsigned integers of 32
/// and 64 bits are seen as the signed ones of their width, whose products have the same bits. Filled by whoever makes
/// it; only the first `dimensions` extents and strides mean something.
struct View {
  void* data = nullptr;
  ElementType type = ElementType::f32;
  int dimensions = 0;
  int device = -1;  ///< the CUDA device that has the memory; -1: host memory
  bool read_only = false;
  std::array<std::int64_t, most_dimensions> extents;
  std::array<std::int64_t, most_dimensions> strides;
  nb::object keeper;  ///< keeps the memory

  // The arrays stay as they are: zeroing them would take longer than a small product.
  View() noexcept {}  // NOLINT(cppcoreguidelines-pro-type-member-init)
  [[nodiscard]] std::span<const std::int64_t> shape() const {
    return {extents.data(), static_cast<std::size_t>(dimensions)};
  }
  /// Of axis `index`, counted from the last one, which is 1.
  [[nodiscard]] std::int64_t extent_from_end(int index) const {
    return extents[static_cast<std::size_t>(dimensions - index)];
  }
  [[nodiscard]] std::int64_t stride_from_end(int index) const {
    return strides[static_cast<std::size_t>(dimensions - index)];
  }
};

/// "(2, 3)"
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

/// "float32", "bfloat16", "float8_e4m3fn" ...: the names that NumPy, ml_dtypes, torch and JAX share. Throws ValueError.
[[nodiscard]] ElementType type_of_name(std::string_view name);
[[nodiscard]] std::string_view name_of_type(ElementType type);

/// A NumPy array, or what has `__dlpack__`: its memory is taken over for as long as the view lives. `stream` is where
/// the consumer will use memory of a CUDA device, as DLPack counts streams. Throws TypeError, ValueError, and what the
/// producer throws.
[[nodiscard]] View view_of(nb::handle array, nb::handle stream);

namespace dlpack {
struct Tensor;
}
/// Describes DLPack's tensor, all but whether it is read-only and what keeps it; answers why it cannot be multiplied,
/// or "".
[[nodiscard]] std::string describe(const dlpack::Tensor& tensor, View& view);

/// Raises a Python exception, such as PyExc_ValueError.
[[noreturn]] void fail(PyObject* exception, const std::string& sentence);
/// Raises what suits the status's code, with its sentence.
void raise_unless_ok(const Status& status);

}  // namespace exactile::python
