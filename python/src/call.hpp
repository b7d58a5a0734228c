// SPDX-License-Identifier: Apache-2.0
/// \file Calls by Python's rules and with Python's own sentences, for the function that every nanosecond counts in.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <initializer_list>

namespace exactile::python {

namespace nb = nanobind;

/// A function's parameters: some that are given by position and must be, and others by name alone. Lives as long as the
/// process.
class Parameters {
 public:
  static constexpr std::size_t most = 16;
  struct Named {
    const char* name;
    nb::object otherwise;  ///< what the argument is where a call does not name it
  };
  using Arguments = std::array<PyObject*, most>;

  Parameters(const char* function, std::initializer_list<const char*> by_position,
             std::initializer_list<Named> by_name);

  /// What a METH_FASTCALL | METH_KEYWORDS function is called with, in the order of the parameters; raises TypeError.
  [[nodiscard]] Arguments arguments(PyObject* const* given, std::size_t positions, PyObject* keywords) const;

 private:
  [[nodiscard]] std::size_t named(PyObject* keyword) const;
  [[noreturn]] void refuse_positions(std::size_t positions) const;

  const char* function_;
  std::size_t by_position_;
  std::size_t all_;
  std::array<PyObject*, most> names_;
  Arguments otherwise_;
};

}  // namespace exactile::python
