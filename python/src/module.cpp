// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "exactile/devices.hpp"

NB_MODULE(_exactile, module) {
  module.doc() = "The compiled part of exactile.";
  module.attr("version") = exactile::version().data();
  exactile::python::add_views(module);
  exactile::python::add_matmul(module);
  exactile::python::add_grouped(module);
  exactile::python::add_plans(module);
  exactile::python::add_reports(module);
  exactile::python::add_xla(module);
}
