// SPDX-License-Identifier: Apache-2.0
#include "new_tensor.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace exactile::python {
namespace {

/// torch._C._dynamo.guards: _empty_strided_cpu and _empty_strided_cuda. Looked up once; null in a torch without them.
struct Makers {
  PyObject* on_cpu = nullptr;
  PyObject* on_cuda = nullptr;
};

Makers find_makers() {
  try {
    const nb::object guards = nb::module_::import_("torch").attr("_C").attr("_dynamo").attr("guards");
    return {nb::object(guards.attr("_empty_strided_cpu")).release().ptr(),
            nb::object(guards.attr("_empty_strided_cuda")).release().ptr()};
  } catch (nb::python_error&) {
    return {};
  }
}

bool is_of_torch(nb::handle tensor) {
  const nb::object module = nb::getattr(tensor.type(), "__module__", nb::none());
  return nb::isinstance<nb::str>(module) && std::string_view(nb::borrow<nb::str>(module).c_str()).starts_with("torch");
}

PyObject* maker_of(nb::handle like, std::int32_t device_type) {
  static PyObject* known_class = nullptr;  // the last one: programs have one. Guarded by the GIL, as all here
  static bool known_is_of_torch = false;
  static std::optional<Makers> makers;
  if (like.type().ptr() != known_class) {
    known_is_of_torch = is_of_torch(like);
    Py_XDECREF(known_class);
    known_class = like.type().inc_ref().ptr();
  }
  if (!known_is_of_torch) return nullptr;
  if (!makers) makers = find_makers();
  return device_type == dlpack::cpu ? makers->on_cpu : device_type == dlpack::cuda ? makers->on_cuda : nullptr;
}

/// (shape, strides, dtype).
nb::object arguments_of(nb::handle like, std::span<const std::int64_t> shape) {
  nb::list extents;
  nb::list strides;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= std::max<std::int64_t>(extent, 1);
  for (const std::int64_t extent : shape) {
    count /= std::max<std::int64_t>(extent, 1);
    extents.append(extent);
    strides.append(count);
  }
  return nb::make_tuple(nb::tuple(extents), nb::tuple(strides), like.attr("dtype"));
}

/// The arguments of the last tensor that was made: the next one is often like it.
nb::object remembered_arguments(nb::handle like, const dlpack::Tensor& wanted) {
  static dlpack::DataType type{};
  static std::vector<std::int64_t> shape;
  static PyObject* arguments = nullptr;
  const std::span<const std::int64_t> now(wanted.shape, static_cast<std::size_t>(wanted.dimensions));
  if (arguments == nullptr || !(type == wanted.type) || !std::ranges::equal(shape, now)) {
    nb::object made = arguments_of(like, now);
    type = wanted.type;
    shape.assign(now.begin(), now.end());
    Py_XDECREF(arguments);
    arguments = made.release().ptr();
  }
  return nb::borrow(arguments);
}

}  // namespace

nb::object new_tensor(nb::handle like, const dlpack::Tensor& wanted) {
  PyObject* const maker = maker_of(like, wanted.device.type);
  if (maker == nullptr) return {};
  const nb::object arguments = remembered_arguments(like, wanted);
  PyObject* const made = PyObject_Call(maker, arguments.ptr(), nullptr);
  if (made == nullptr) PyErr_Clear();
  return nb::steal(made);
}

}  // namespace exactile::python
