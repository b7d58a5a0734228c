// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <memory>

#include "dlpack.hpp"

namespace exactile::python {
namespace {

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
bool is_lazy(nb::handle tensor) {
  return nb::cast<bool>(nb::getattr(tensor, "requires_grad", nb::bool_(false))) ||
         (nb::hasattr(tensor, "is_neg") && nb::cast<bool>(tensor.attr("is_neg")()));
}

bool look(const Exchange& exchange, nb::handle tensor, dlpack::Tensor& out) {
  if (exchange.look(tensor.ptr(), &out) == 0) return true;
  PyErr_Clear();
  return false;
}

void set_error(void*, const char* kind, const char* message) {
  PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
}

}  // namespace

nb::object multiply_by_exchange(nb::handle a, nb::handle b, const std::function<Request(ElementType)>& request) {
  if (!a.type().is(b.type())) return nb::none();
  const Exchange* exchange = exchange_of(a.type());
  dlpack::Tensor left;
  dlpack::Tensor right;
  if (exchange == nullptr || !look(*exchange, a, left) || !look(*exchange, b, right)) return nb::none();
  if (left.type != right.type || left.type.code == dlpack::complex || left.type.bits * left.type.lanes < 16)
    return nb::none();
  View view_a;
  View view_b;
  if (!describe(left, view_a).empty() || !describe(right, view_b).empty() || view_a.device != view_b.device)
    return nb::none();
  if (is_lazy(a) || is_lazy(b)) return nb::none();

  Shape shape = result_shape(view_a, view_b);
  dlpack::Tensor prototype = left;
  prototype.shape = shape.extents.data();
  prototype.strides = nullptr;
  prototype.dimensions = shape.dimensions;
  prototype.byte_offset = 0;
  dlpack::ManagedVersioned* made = nullptr;
  if (exchange->allocate(&prototype, &made, nullptr, set_error) != 0) throw nb::python_error();
  std::unique_ptr<dlpack::ManagedVersioned, void (*)(void*)> own(made, dlpack::give_back<dlpack::ManagedVersioned>);
  View view_c;
  static_cast<void>(describe(made->tensor, view_c));
  Request on_stream = request(view_a.type);
  place(on_stream.options, view_c);
  if (view_a.device >= 0 &&
      exchange->current_stream(left.device.type, left.device.index, &on_stream.execution.queue) != 0)
    throw nb::python_error();
  multiply(view_a, view_b, view_c, on_stream);
  void* object = nullptr;
  if (exchange->give(own.release(), &object) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(object));
}

}  // namespace exactile::python
