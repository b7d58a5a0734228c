// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <memory>

#include "dlpack.hpp"
#include "new_tensor.hpp"

namespace exactile::python {

/// https://github.com/dmlc/dlpack/blob/main/include/dlpack/dlpack.h: DLPackExchangeAPI. Functions answer 0, or other
/// numbers with a Python exception set.
struct Exchange {
  std::uint32_t major;
  std::uint32_t minor;
  Exchange* previous;
  int (*allocate)(const dlpack::Tensor* prototype, dlpack::ManagedVersioned** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*take)(void* object, dlpack::ManagedVersioned** out);
  int (*give)(dlpack::ManagedVersioned* tensor, void** object);
  int (*look)(void* object, dlpack::Tensor* out);  ///< may be null
  int (*current_stream)(std::int32_t device_type, std::int32_t index, void** stream);
};

namespace {

/// A class of arrays, and what is asked of each of them: looked up once, which takes longer than to ask.
struct ArrayClass {
  PyObject* type = nullptr;
  const Exchange* exchange = nullptr;
  PyObject* has_gradient = nullptr;  ///< the attribute itself, or null
  descrgetfunc read = nullptr;       ///< and what reads it of an array
  PyObject* is_negated = nullptr;    ///< a method, or null
};

PyObject* attribute_or_null(nb::handle array_class, const char* name) {
  PyObject* const found = PyObject_GetAttrString(array_class.ptr(), name);
  if (found == nullptr) PyErr_Clear();
  return found;
}

ArrayClass look_up(nb::handle array_class) {
  const nb::object capsule = nb::getattr(array_class, "__dlpack_c_exchange_api__", nb::none());
  ArrayClass found{.type = array_class.inc_ref().ptr()};  // so that no other class comes to lie at its address
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") == 0) return found;
  const auto* exchange = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (exchange->major != dlpack::major || exchange->look == nullptr) return found;
  found.exchange = exchange;
  found.has_gradient = attribute_or_null(array_class, "requires_grad");
  if (found.has_gradient != nullptr)
    found.read = reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(found.has_gradient), Py_tp_descr_get));
  found.is_negated = attribute_or_null(array_class, "is_neg");
  return found;
}

/// Remembered for the last class that was asked for: programs have one. Guarded by the GIL.
const ArrayClass& class_of(nb::handle array) {
  static ArrayClass known;
  const nb::handle type = array.type();
  if (type.ptr() == known.type) return known;
  const ArrayClass found = look_up(type);
  for (PyObject* const object : {known.type, known.has_gradient, known.is_negated}) Py_XDECREF(object);
  return known = found;
}

bool is_true(PyObject* answer) {
  if (answer == nullptr) PyErr_Clear();
  return nb::steal<nb::object>(answer).is(nb::handle(Py_True));
}

/// What a tensor's elements alone do not say: that it has a gradient, or that its library negates it when it is read.
bool is_lazy(const ArrayClass& kind, PyObject* tensor) {
  if (kind.read != nullptr && is_true(kind.read(kind.has_gradient, tensor, kind.type))) return true;
  return kind.is_negated != nullptr && is_true(PyObject_Vectorcall(kind.is_negated, &tensor, 1, nullptr));
}

bool is_integer(const dlpack::DataType& type) {
  return type.code == dlpack::integer || type.code == dlpack::unsigned_integer;
}

/// Products of these are cut to size.
bool is_narrow_integer(const dlpack::DataType& type) { return is_integer(type) && type.bits < 32; }

/// Whether all of a product of `input` is kept in `output`, another type.
bool widens(const dlpack::DataType& input, const dlpack::DataType& output) {
  const auto is = [](const dlpack::DataType& type, dlpack::Code code, int bits) {
    return type.code == code && type.bits == bits && type.lanes == 1;
  };
  if (is(input, dlpack::integer, 8)) return is(output, dlpack::integer, 32);
  return (is(input, dlpack::real, 16) || is(input, dlpack::bfloat, 16)) && is(output, dlpack::real, 32);
}

/// Of a tensor that is read and written as it lies; false for others.
bool look(const ArrayClass& kind, nb::handle tensor, View& view, dlpack::Tensor& found) {
  if (kind.exchange->look(tensor.ptr(), &found) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool is_real =
      is_integer(found.type) || (found.type.code != dlpack::complex && found.type.bits * found.type.lanes >= 16);
  return is_real && describe(found, view).empty() && !is_lazy(kind, tensor.ptr());
}

void set_error(void*, const char* kind, const char* message) {
  PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
}

void run(const ExchangedPair& pair, const View& c, Request& request) {
  place(request.options, c);
  if (c.device >= 0 &&
      pair.exchange->current_stream(pair.device.type, pair.device.index, &request.execution.queue) != 0)
    throw nb::python_error();
  multiply(pair.a, pair.b, c, request);
}

}  // namespace

bool look_at_pair(nb::handle a, nb::handle b, ExchangedPair& pair) {
  if (!a.type().is(b.type())) return false;
  const ArrayClass kind = class_of(a);
  dlpack::Tensor left;
  dlpack::Tensor right;
  if (kind.exchange == nullptr || !look(kind, a, pair.a, left) || !look(kind, b, pair.b, right)) return false;
  pair.exchange = kind.exchange;
  pair.type = left.type;
  pair.device = left.device;
  return left.type == right.type && pair.a.device == pair.b.device;
}

bool look_at_out(const ExchangedPair& pair, nb::handle a, nb::handle out, View& view) {
  if (out.is_none()) return !is_narrow_integer(pair.type);
  dlpack::Tensor found;
  if (!a.type().is(out.type()) || !look(class_of(a), out, view, found)) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.dimensions); ++i)
    if (view.extents[i] > 1 && view.strides[i] <= 0) return false;
  const bool takes = found.type == pair.type ? !is_narrow_integer(pair.type) : widens(pair.type, found.type);
  return takes && view.device == pair.a.device;
}

nb::object multiply_exchanged(const ExchangedPair& pair, nb::handle a, nb::handle out, View& view, Request& request) {
  if (!out.is_none()) {
    run(pair, view, request);
    return nb::borrow(out);
  }
  Shape shape = result_shape(pair.a, pair.b);
  dlpack::Tensor wanted{};
  wanted.device = pair.device;
  wanted.type = pair.type;
  wanted.shape = shape.extents.data();
  wanted.dimensions = shape.dimensions;
  if (nb::object made = new_tensor(a, wanted); made.is_valid()) {
    dlpack::Tensor found;
    if (pair.exchange->look(made.ptr(), &found) != 0) throw nb::python_error();
    if (found.device.index == pair.device.index) {
      static_cast<void>(describe(found, view));
      run(pair, view, request);
      return made;
    }
  }
  dlpack::ManagedVersioned* made = nullptr;
  if (pair.exchange->allocate(&wanted, &made, nullptr, set_error) != 0) throw nb::python_error();
  std::unique_ptr<dlpack::ManagedVersioned, void (*)(void*)> own(made, dlpack::give_back<dlpack::ManagedVersioned>);
  static_cast<void>(describe(made->tensor, view));
  run(pair, view, request);
  void* object = nullptr;
  if (pair.exchange->give(own.release(), &object) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(object));
}

}  // namespace exactile::python
