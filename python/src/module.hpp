// SPDX-License-Identifier: Apache-2.0
/// \file The parts of the module; each adds its names.
#pragma once

#include <nanobind/nanobind.h>

namespace exactile::python {

void add_grouped(nanobind::module_& module);
void add_matmul(nanobind::module_& module);
void add_plans(nanobind::module_& module);
void add_reports(nanobind::module_& module);
void add_views(nanobind::module_& module);
void add_xla(nanobind::module_& module);

}  // namespace exactile::python
