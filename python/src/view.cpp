// SPDX-License-Identifier: Apache-2.0
#include "view.hpp"

#include <algorithm>

#include "dlpack.hpp"
#include "numpy.hpp"

namespace exactile::python {
namespace {

struct Named {
  std::string_view name;
  ElementType type;
  dlpack::DataType code;
};

/// Signed integers before the unsigned ones of their width: the first of a type is its name.
constexpr std::array names{Named{"float64", ElementType::f64, {dlpack::real, 64, 1}},
                           Named{"float32", ElementType::f32, {dlpack::real, 32, 1}},
                           Named{"float16", ElementType::f16, {dlpack::real, 16, 1}},
                           Named{"bfloat16", ElementType::bf16, {dlpack::bfloat, 16, 1}},
                           Named{"float8_e4m3fn", ElementType::f8e4m3, {dlpack::float8_e4m3fn, 8, 1}},
                           Named{"float8_e5m2", ElementType::f8e5m2, {dlpack::float8_e5m2, 8, 1}},
                           Named{"int64", ElementType::i64, {dlpack::integer, 64, 1}},
                           Named{"int32", ElementType::i32, {dlpack::integer, 32, 1}},
                           Named{"int8", ElementType::i8, {dlpack::integer, 8, 1}},
                           Named{"int16", ElementType::i16, {dlpack::integer, 16, 1}},
                           Named{"uint8", ElementType::u8, {dlpack::unsigned_integer, 8, 1}},
                           Named{"complex128", ElementType::cf64, {dlpack::complex, 128, 1}},
                           Named{"complex64", ElementType::cf32, {dlpack::complex, 64, 1}},
                           Named{"uint64", ElementType::i64, {dlpack::unsigned_integer, 64, 1}},
                           Named{"uint32", ElementType::i32, {dlpack::unsigned_integer, 32, 1}}};

PyObject* exception_of(StatusCode code) {
  switch (code) {
    case StatusCode::invalid_argument:
    case StatusCode::unknown_name: return PyExc_ValueError;
    case StatusCode::unsupported:
    case StatusCode::not_yet_available: return PyExc_NotImplementedError;
    case StatusCode::out_of_memory: return PyExc_MemoryError;
    default: return PyExc_RuntimeError;
  }
}

/// What an array's `__dlpack__` answers, by the newest interface that it knows.
nb::object capsule_of(nb::handle array, nb::handle stream) {
  const nb::object produce = array.attr("__dlpack__");
  nb::dict keywords;
  if (!stream.is_none()) keywords["stream"] = stream;
  try {
    return produce(nb::arg("max_version") = nb::make_tuple(dlpack::major, dlpack::minor), **keywords);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
  }
  return produce(**keywords);
}

}  // namespace

std::string describe(const dlpack::Tensor& tensor, View& view) {
  const auto named = std::ranges::find(names, tensor.type, &Named::code);
  if (named == names.end())
    return "an array of DLPack type code " + std::to_string(tensor.type.code) + " with " +
           std::to_string(tensor.type.bits) + " bits cannot be multiplied";
  if (tensor.dimensions > most_dimensions) return "an array has more than 64 dimensions";
  const bool on_device = tensor.device.type == dlpack::cuda || tensor.device.type == dlpack::cuda_managed;
  if (!on_device && tensor.device.type != dlpack::cpu && tensor.device.type != dlpack::cuda_host)
    return "an array lies on a device of DLPack type " + std::to_string(tensor.device.type) +
           ": expected the memory of the host or of a CUDA device";
  view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view.type = named->type;
  view.dimensions = tensor.dimensions;
  view.device = on_device ? tensor.device.index : -1;
  std::int64_t next = 1;
  for (std::size_t i = static_cast<std::size_t>(tensor.dimensions); i-- > 0; next *= tensor.shape[i]) {
    view.extents[i] = tensor.shape[i];
    view.strides[i] = tensor.strides == nullptr ? next : tensor.strides[i];
  }
  return {};
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

ElementType type_of_name(std::string_view name) {
  const auto named = std::ranges::find(names, name, &Named::name);
  if (named != names.end()) return named->type;
  fail(PyExc_ValueError, "'" + std::string(name) + "' is no element type of a product");
}

std::string_view name_of_type(ElementType type) { return std::ranges::find(names, type, &Named::type)->name; }

View view_of(nb::handle array, nb::handle stream) {
  View view;
  if (is_numpy(array)) {
    if (!view_numpy(array, view)) fail(PyExc_TypeError, "a NumPy array must be converted before it is multiplied");
    view.keeper = nb::borrow(array);
    return view;
  }
  view.keeper = capsule_of(array, stream);
  const dlpack::Taken taken = dlpack::take(view.keeper);
  view.keeper = taken.keeper;
  view.read_only = taken.read_only;
  if (const std::string fault = describe(*taken.tensor, view); !fault.empty()) fail(PyExc_TypeError, fault);
  return view;
}

void fail(PyObject* exception, const std::string& sentence) {
  PyErr_SetString(exception, sentence.c_str());
  throw nb::python_error();
}

void raise_unless_ok(const Status& status) {
  if (!status.ok()) fail(exception_of(status.code()), std::string(status.message()));
}

}  // namespace exactile::python
