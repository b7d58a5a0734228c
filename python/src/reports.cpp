// SPDX-License-Identifier: Apache-2.0
// What the library says of itself and of its promises.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "exactile/devices.hpp"
#include "exactile/error_bound.hpp"
#include "exactile/settings.hpp"
#include "module.hpp"
#include "multiply.hpp"
#include "options.hpp"

namespace exactile::python {
namespace {

nb::list devices_list() {
  nb::list list;
  for (const DeviceInfo& device : devices()) {
    nb::dict properties;
    for (const auto& [key, value] : device.properties) properties[key.c_str()] = value;
    nb::dict entry;
    entry["backend"] = std::string(to_string(device.backend));
    entry["name"] = device.name;
    entry["available"] = device.available;
    entry["reason"] = device.reason;
    entry["properties"] = properties;
    list.append(entry);
  }
  return list;
}

nb::list kernels_list() {
  nb::list list;
  for (const KernelInfo& kernel : kernels()) {
    nb::list types;
    for (const GemmTypes pair : kernel.types) types.append(to_string(pair));
    nb::dict entry;
    entry["name"] = kernel.name;
    entry["backend"] = std::string(to_string(kernel.backend));
    entry["role"] = kernel.role;
    entry["summary"] = kernel.summary;
    entry["types"] = types;
    entry["available"] = kernel.available;
    entry["on_device"] = kernel.on_device;
    entry["reason"] = kernel.reason;
    list.append(entry);
  }
  return list;
}

void set_threads(nb::handle count) {
  thread_limit.store(count.is_none() ? 0 : threads_of(count, "count"), std::memory_order_relaxed);
}

int get_threads() {
  const int limit = thread_limit.load(std::memory_order_relaxed);
  return limit == 0 ? default_threads() : limit;
}

/// The factors of |c| and of |a||b| in the accuracy's bound.
nb::tuple bound_factors(nb::handle accuracy, std::string_view input, std::string_view output, std::int64_t k) {
  const auto [of_result, of_terms] =
      apriori_bound(accuracy_of(accuracy), {type_of_name(input), type_of_name(output)}, k);
  return nb::make_tuple(of_result, of_terms);
}

}  // namespace

void add_reports(nb::module_& module) {
  module.def("devices", &devices_list, nb::sig("def devices() -> list[dict[str, typing.Any]]"));
  module.def("kernels", &kernels_list, nb::sig("def kernels() -> list[dict[str, typing.Any]]"));
  module.def("set_threads", &set_threads, nb::arg("count").none(),
             nb::sig("def set_threads(count: int | None) -> None"));
  module.def("get_threads", &get_threads);
  module.def("ignored_settings", &ignored_settings, "Settings in the environment that mean nothing, a sentence each.");
  module.def("bound_factors", &bound_factors, nb::arg("accuracy").none(), nb::arg("inputs"), nb::arg("result"),
             nb::arg("k"),
             nb::sig("def bound_factors(accuracy: str, inputs: str, result: str, k: int) -> tuple[float, float]"),
             "The factors of |c| and of |a||b| in the error bound of sums of k products.");
}

}  // namespace exactile::python
