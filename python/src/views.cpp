// SPDX-License-Identifier: Apache-2.0
// The class View, by which Python hands over memory that is neither NumPy's nor exported by DLPack.
#include <nanobind/stl/string_view.h>

#include "module.hpp"
#include "view.hpp"

namespace exactile::python {
namespace {

void copy(nb::handle numbers, std::array<std::int64_t, most_dimensions>& to) {
  std::size_t i = 0;
  for (const nb::handle number : numbers) to[i++] = nb::cast<std::int64_t>(number);
}

View view_at(std::uintptr_t pointer, nb::tuple shape, nb::tuple strides, std::string_view type, int device,
             bool read_only, nb::object keeper) {
  if (shape.size() != strides.size() || shape.size() > most_dimensions)
    fail(PyExc_ValueError, "shape and strides: expected one length, up to 64");
  View view;
  view.data = reinterpret_cast<void*>(pointer);  // NOLINT(performance-no-int-to-ptr)
  view.type = type_of_name(type);
  view.dimensions = static_cast<int>(shape.size());
  view.device = device;
  view.read_only = read_only;
  view.keeper = std::move(keeper);
  copy(shape, view.extents);
  copy(strides, view.strides);
  return view;
}

nb::tuple tuple_of(std::span<const std::int64_t> numbers) {
  nb::list list;
  for (const std::int64_t number : numbers) list.append(number);
  return nb::tuple(list);
}

}  // namespace

void add_views(nb::module_& module) {
  nb::class_<View>(module, "View", "Where the elements of an array lie, and what keeps them.")
      .def_static("of", &view_of, nb::arg("array"), nb::arg("stream").none() = nb::none(),
                  nb::sig("def of(array: typing.Any, stream: int | None = None) -> View"),
                  "Of a NumPy array, or of what has __dlpack__; `stream` is handed to its producer.")
      .def_static("at", &view_at, nb::arg("pointer"), nb::arg("shape"), nb::arg("strides"), nb::arg("type"),
                  nb::arg("device"), nb::arg("read_only"), nb::arg("keeper"),
                  nb::sig("def at(pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], type: str, "
                          "device: int, read_only: bool, keeper: object) -> View"),
                  "Of memory at an address; strides count elements, device -1 is the host.")
      .def_prop_ro(
          "shape", [](const View& view) { return tuple_of(view.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "strides",
          [](const View& view) {
            return tuple_of({view.strides.data(), view.shape().size()});
          },
          nb::sig("def strides(self) -> tuple[int, ...]"))
      .def_prop_ro("type", [](const View& view) { return nb::str(name_of_type(view.type).data()); })
      .def_prop_ro("device", [](const View& view) { return view.device; })
      .def_prop_ro("read_only", [](const View& view) { return view.read_only; });
}

}  // namespace exactile::python
