// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <nanobind/stl/string.h>

namespace exactile::python {
namespace {

/// An error that Python has set already and that is not of the object's type stays.
[[noreturn]] void refuse(nb::handle object, const char* name, const char* expected) {
  if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
  PyErr_Clear();
  const nb::object type = object.type().attr("__name__");
  fail(PyExc_TypeError, std::string(name) + ": expected " + expected + ", not " + nb::cast<std::string>(nb::str(type)));
}

/// By Python's complex(), which knows what other packages' numbers are; it would read text too.
std::complex<double> complex_of(nb::handle number, const char* name) {
  if (PyUnicode_Check(number.ptr()) != 0) refuse(number, name, "a number");
  const nb::object value =
      nb::steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyComplex_Type), number.ptr(), nullptr));
  if (!value.is_valid()) refuse(number, name, "a number");
  return {PyComplex_RealAsDouble(value.ptr()), PyComplex_ImagAsDouble(value.ptr())};
}

}  // namespace

std::string_view text_of(nb::handle text, const char* name) {
  if (PyUnicode_Check(text.ptr()) == 0) refuse(text, name, "a str");
  Py_ssize_t length = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
  if (utf8 == nullptr) throw nb::python_error();
  return {utf8, static_cast<std::size_t>(length)};
}

bool flag_of(nb::handle flag, const char* name) {
  if (!PyBool_Check(flag.ptr())) refuse(flag, name, "a bool");
  return flag.is(nb::handle(Py_True));
}

Accuracy accuracy_of(nb::handle name) {
  const std::string_view text = text_of(name, "accuracy");
  if (const auto accuracy = parse_accuracy(text)) return *accuracy;
  fail(PyExc_ValueError,
       "accuracy = '" + std::string(text) + "': expected 'standard', 'reduced', 'compensated' or 'correctly_rounded'");
}

Backend backend_of(nb::handle name) {
  const std::string_view text = text_of(name, "backend");
  if (const auto backend = parse_backend(text)) return *backend;
  fail(PyExc_ValueError, "backend = '" + std::string(text) + "': expected 'auto', 'cpu', 'cuda' or 'opencl'");
}

Activation activation_of(nb::handle name) {
  if (name.is_none()) return Activation::none;
  const std::string_view text = text_of(name, "activation");
  for (const Activation activation : {Activation::relu, Activation::gelu})
    if (text == to_string(activation)) return activation;
  fail(PyExc_ValueError, "activation = '" + std::string(text) + "': expected None, 'relu' or 'gelu'");
}

int threads_of(nb::handle threads, const char* name) {
  if (threads.is_none()) return thread_limit.load(std::memory_order_relaxed);
  if (PyIndex_Check(threads.ptr()) == 0) refuse(threads, name, "None or an integer");
  const long count = PyLong_AsLong(threads.ptr());
  if (count == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (count >= 1 && count <= 1 << 20) return static_cast<int>(count);
  fail(PyExc_ValueError, std::string(name) + " = " + std::to_string(count) + ": expected None, or 1 or more");
}

Scalar scalar_of(nb::handle number, ElementType input, const char* name) {
  if (is_complex(input)) return complex_of(number, name);
  if (is_floating(input)) {
    const double value = PyFloat_AsDouble(number.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) refuse(number, name, "a real number");
    return value;
  }
  const nb::object integer = nb::steal(PyNumber_Index(number.ptr()));
  if (!integer.is_valid()) refuse(number, name, "an integer, as the elements are");
  const long long value = PyLong_AsLongLong(integer.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

}  // namespace exactile::python
