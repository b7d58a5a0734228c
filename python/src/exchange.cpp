// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <memory>

#include "dlpack.hpp"

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

/// Of a class of arrays, remembered for the last one that was asked for: programs have one. Guarded by the GIL.
const Exchange* exchange_of(nb::handle array_class) {
  static PyObject* known = nullptr;
  static const Exchange* exchange = nullptr;
  PyObject* const type = array_class.ptr();
  if (type == known) return exchange;
  const nb::object capsule = nb::getattr(array_class, "__dlpack_c_exchange_api__", nb::none());
  const Exchange* found = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api"))
    found = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (found != nullptr && (found->major != dlpack::major || found->look == nullptr)) found = nullptr;
  Py_INCREF(type);  // so that no other class comes to lie at its address
  Py_XDECREF(known);
  known = type;
  return exchange = found;
}

/// What a tensor's elements alone do not say: that it has a gradient, or that its library negates it when it is read.
/// The names live as long as the process, and the method is called unbound: no object is made for a call.
bool is_lazy(nb::handle tensor) {
  static PyObject* const has_gradient = PyUnicode_InternFromString("requires_grad");
  static PyObject* const is_negated = PyUnicode_InternFromString("is_neg");
  PyObject* const object = tensor.ptr();
  const nb::object gradient = nb::steal(PyObject_GetAttr(object, has_gradient));
  if (!gradient.is_valid()) PyErr_Clear();
  const nb::object negated = nb::steal(PyObject_VectorcallMethod(is_negated, &object, 1, nullptr));
  if (!negated.is_valid()) PyErr_Clear();
  return gradient.is(nb::handle(Py_True)) || negated.is(nb::handle(Py_True));
}

/// Of a tensor that is read and written as it lies; false for others.
bool look(const Exchange& exchange, nb::handle tensor, View& view, dlpack::Tensor& found) {
  if (exchange.look(tensor.ptr(), &found) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool is_integer = found.type.code == dlpack::integer || found.type.code == dlpack::unsigned_integer;
  const bool is_real =
      found.type.code != dlpack::complex && found.type.bits * found.type.lanes >= (is_integer ? 32 : 16);
  return is_real && describe(found, view).empty() && !is_lazy(tensor);
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
  pair.exchange = exchange_of(a.type());
  dlpack::Tensor left;
  dlpack::Tensor right;
  if (pair.exchange == nullptr || !look(*pair.exchange, a, pair.a, left) || !look(*pair.exchange, b, pair.b, right))
    return false;
  pair.type = left.type;
  pair.device = left.device;
  return left.type == right.type && pair.a.device == pair.b.device;
}

bool look_at_out(const ExchangedPair& pair, nb::handle a, nb::handle out, View& view) {
  if (out.is_none()) return true;
  dlpack::Tensor found;
  if (!a.type().is(out.type()) || !look(*pair.exchange, out, view, found)) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.dimensions); ++i)
    if (view.extents[i] > 1 && view.strides[i] <= 0) return false;
  return found.type == pair.type && view.device == pair.a.device;
}

nb::object multiply_exchanged(const ExchangedPair& pair, nb::handle out, View& view, Request& request) {
  if (!out.is_none()) {
    run(pair, view, request);
    return nb::borrow(out);
  }
  Shape shape = result_shape(pair.a, pair.b);
  dlpack::Tensor prototype{};
  prototype.device = pair.device;
  prototype.type = pair.type;
  prototype.shape = shape.extents.data();
  prototype.dimensions = shape.dimensions;
  dlpack::ManagedVersioned* made = nullptr;
  if (pair.exchange->allocate(&prototype, &made, nullptr, set_error) != 0) throw nb::python_error();
  std::unique_ptr<dlpack::ManagedVersioned, void (*)(void*)> own(made, dlpack::give_back<dlpack::ManagedVersioned>);
  static_cast<void>(describe(made->tensor, view));
  run(pair, view, request);
  void* object = nullptr;
  if (pair.exchange->give(own.release(), &object) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(object));
}

}  // namespace exactile::python
