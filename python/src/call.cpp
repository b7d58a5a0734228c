// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

#include <algorithm>

namespace exactile::python {

Parameters::Parameters(const char* function, std::initializer_list<const char*> by_position,
                       std::initializer_list<Named> by_name)
    : function_(function), by_position_(by_position.size()), all_(by_position.size() + by_name.size()) {
  std::size_t next = 0;
  for (const char* const name : by_position) {
    names_[next] = PyUnicode_InternFromString(name);
    otherwise_[next++] = nullptr;
  }
  for (const Named& parameter : by_name) {
    names_[next] = PyUnicode_InternFromString(parameter.name);
    otherwise_[next++] = nb::object(parameter.otherwise).release().ptr();
  }
}

/// Names in a program's text are interned, those of a dictionary may not be.
std::size_t Parameters::named(PyObject* keyword) const {
  for (std::size_t i = 0; i < all_; ++i)
    if (names_[i] == keyword) return i;
  for (std::size_t i = 0; i < all_; ++i)
    if (PyUnicode_Compare(names_[i], keyword) == 0) return i;
  PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function_, keyword);
  throw nb::python_error();
}

void Parameters::refuse_positions(std::size_t positions) const {
  if (positions > by_position_) {
    PyErr_Format(PyExc_TypeError, "%s() takes %zu positional arguments but %zu were given", function_, by_position_,
                 positions);
  } else {
    nb::list missing;
    for (std::size_t i = positions; i < by_position_; ++i)
      missing.append(nb::steal(PyUnicode_FromFormat("'%U'", names_[i])));
    const nb::object names = nb::str(" and ").attr("join")(missing);
    PyErr_Format(PyExc_TypeError, "%s() missing %zu required positional argument%s: %U", function_, missing.size(),
                 missing.size() == 1 ? "" : "s", names.ptr());
  }
  throw nb::python_error();
}

Parameters::Arguments Parameters::arguments(PyObject* const* given, std::size_t positions, PyObject* keywords) const {
  Arguments arguments = otherwise_;
  const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_Size(keywords);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const keyword = PyTuple_GetItem(keywords, i);
    const std::size_t parameter = named(keyword);
    if (parameter < by_position_) {
      PyErr_Format(PyExc_TypeError, "%s() got some positional-only arguments passed as keyword arguments: '%U'",
                   function_, keyword);
      throw nb::python_error();
    }
    arguments[parameter] = given[positions + static_cast<std::size_t>(i)];
  }
  if (positions != by_position_) refuse_positions(positions);
  std::copy(given, given + positions, arguments.begin());
  return arguments;
}

}  // namespace exactile::python
