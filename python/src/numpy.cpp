// SPDX-License-Identifier: Apache-2.0
#include "numpy.hpp"

#include <nanobind/stl/string_view.h>
#include <numpy/arrayobject.h>

#include <cstring>
#include <optional>

#include "result_memory.hpp"

namespace exactile::python {
namespace {

/// True once NumPy's table of functions is there. NumPy is not imported for it: without it there are no arrays.
bool numpy_is_there() {
  if (PyArray_API != nullptr) [[likely]]
    return true;
  const nb::object module = nb::steal(PyImport_GetModule(nb::str("numpy").ptr()));
  if (!module.is_valid()) {
    PyErr_Clear();
    return false;
  }
  if (_import_array() < 0) throw nb::python_error();
  return true;
}

/// Of a type that another package added to NumPy's. The stable ABI has names of types as Python's strings only.
std::optional<ElementType> added_type(const PyArray_Descr* type) {
  const nb::handle of_elements = reinterpret_cast<PyObject*>(type->typeobj);
  const nb::object module = of_elements.attr("__module__");
  const nb::object held = of_elements.attr("__name__");
  if (nb::cast<std::string_view>(module) != "ml_dtypes") return std::nullopt;
  const auto name = nb::cast<std::string_view>(held);
  if (name == "bfloat16") return ElementType::bf16;
  if (name == "float8_e4m3fn") return ElementType::f8e4m3;
  if (name == "float8_e5m2") return ElementType::f8e5m2;
  return std::nullopt;
}

std::optional<ElementType> element_type(const PyArray_Descr* type) {
  static_assert(sizeof(npy_int) == 4 && sizeof(npy_long) == 8 && sizeof(npy_longlong) == 8);
  switch (type->type_num) {
    case NPY_DOUBLE: return ElementType::f64;
    case NPY_FLOAT: return ElementType::f32;
    case NPY_HALF: return ElementType::f16;
    case NPY_LONG:
    case NPY_LONGLONG:
    case NPY_ULONG:
    case NPY_ULONGLONG: return ElementType::i64;
    case NPY_INT:
    case NPY_UINT: return ElementType::i32;
    case NPY_SHORT: return ElementType::i16;
    case NPY_BYTE: return ElementType::i8;
    case NPY_UBYTE: return ElementType::u8;
    case NPY_CDOUBLE: return ElementType::cf64;
    case NPY_CFLOAT: return ElementType::cf32;
    default: return type->type_num >= NPY_USERDEF ? added_type(type) : std::nullopt;
  }
}

PyArrayObject* as_array(nb::handle array) { return reinterpret_cast<PyArrayObject*>(array.ptr()); }

/// Products of these are cut to size.
bool is_narrow_integer(ElementType type) { return !is_floating(type) && size_in_bytes(type) < 4; }

/// Whether all of a product of `input` is kept in `output`, another type.
bool widens(ElementType input, const PyArray_Descr* output) {
  switch (input) {
    case ElementType::i8: return output->type_num == NPY_INT;
    case ElementType::f16:
    case ElementType::bf16: return output->type_num == NPY_FLOAT;
    default: return false;
  }
}

/// int64 and uint64 are two.
bool same_type(nb::handle a, nb::handle b) {
  return PyArray_DESCR(as_array(a))->type_num == PyArray_DESCR(as_array(b))->type_num;
}

/// Takes over the reference to the type, as NumPy does.
nb::object new_array(PyArray_Descr* type, std::span<npy_intp> extents) {
  PyObject* made = PyArray_NewFromDescr(&PyArray_Type, type, static_cast<int>(extents.size()), extents.data(), nullptr,
                                        nullptr, 0, nullptr);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

/// Sets who gives NumPy its memory, unless the program has said that itself.
class MemoryHandler {
 public:
  explicit MemoryHandler(PyObject* handler) {
    const nb::object now = nb::steal(PyDataMem_GetHandler());
    if (now.is(PyDataMem_DefaultHandler)) before_ = nb::steal(PyDataMem_SetHandler(handler));
  }
  ~MemoryHandler() {
    const nb::error_scope keeps_what_is_raised;
    if (before_.is_valid()) nb::steal(PyDataMem_SetHandler(before_.ptr()));
  }
  MemoryHandler(const MemoryHandler&) = delete;
  MemoryHandler& operator=(const MemoryHandler&) = delete;

 private:
  nb::object before_;
};

/// 0 where they are more than there can be.
std::size_t bytes_of(std::span<const std::int64_t> shape, std::int64_t item) {
  std::int64_t bytes = item;
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return 0;
  return static_cast<std::size_t>(bytes);
}

}  // namespace

bool is_numpy(nb::handle object) { return numpy_is_there() && PyArray_CheckExact(object.ptr()); }

bool view_numpy(nb::handle object, View& view) {
  PyArrayObject* array = as_array(object);
  const auto type = element_type(PyArray_DESCR(array));
  if (!type || !PyArray_ISBEHAVED_RO(array)) return false;
  const std::int64_t size = size_in_bytes(*type);
  view.data = PyArray_DATA(array);
  view.type = *type;
  view.dimensions = PyArray_NDIM(array);
  view.device = -1;
  view.read_only = !PyArray_ISWRITEABLE(array);
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.dimensions); ++i) {
    const std::int64_t stride = PyArray_STRIDES(array)[i];
    view.extents[i] = PyArray_DIMS(array)[i];
    if (stride % size != 0 && view.extents[i] > 1) return false;
    view.strides[i] = stride / size;
  }
  return true;
}

bool view_numpy_pair(nb::handle a, nb::handle b, View& view_a, View& view_b) {
  return is_numpy(a) && is_numpy(b) && same_type(a, b) && view_numpy(a, view_a) && view_numpy(b, view_b);
}

bool view_numpy_out(nb::handle a, ElementType input, nb::handle out, View& view) {
  if (out.is_none()) return !is_narrow_integer(input);
  if (!is_numpy(out) || !view_numpy(out, view)) return false;
  const bool takes = same_type(a, out) ? !is_narrow_integer(input) && size_in_bytes(input) > 1
                                       : widens(input, PyArray_DESCR(as_array(out)));
  if (!takes) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.dimensions); ++i)
    if (view.extents[i] > 1 && view.strides[i] <= 0) return false;
  return true;
}

nb::object new_numpy(nb::handle a, std::span<const std::int64_t> shape, View& view) {
  static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
  PyArray_Descr* type = PyArray_DESCR(as_array(a));
  if (PyArray_ITEMSIZE(as_array(a)) == 1)
    type = PyArray_DescrFromType(NPY_FLOAT);
  else
    Py_INCREF(reinterpret_cast<PyObject*>(type));
  npy_intp extents[most_dimensions];
  for (std::size_t i = 0; i < shape.size(); ++i) extents[i] = shape[i];
  const std::span<npy_intp> all(extents, shape.size());
  std::optional<MemoryHandler> memory;
  if (PyObject* const handler = result_memory_for(bytes_of(shape, PyDataType_ELSIZE(type)))) memory.emplace(handler);
  nb::object array = new_array(type, all);
  if (!view_numpy(array, view)) fail(PyExc_SystemError, "matmul: NumPy's new array is not what was asked for");
  return array;
}

nb::object number_if_alone(nb::object array, const View& view) {
  return view.dimensions > 0 ? array : array.attr("__getitem__")(nb::tuple());
}

}  // namespace exactile::python
