// SPDX-License-Identifier: Apache-2.0
// Grouped products of views; exactile/_grouped.py brings arrays into the form.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>

#include "exactile/grouped.hpp"
#include "module.hpp"
#include "multiply.hpp"
#include "options.hpp"

namespace exactile::python {
namespace {

void check_shape(const View& view, const char* name, std::initializer_list<std::int64_t> expected) {
  const std::span<const std::int64_t> shape(expected.begin(), expected.size());
  if (!std::ranges::equal(view.shape(), shape))
    fail(PyExc_ValueError, "grouped_matmul: " + std::string(name) + " has shape " + shape_text(view.shape()) +
                               ": expected " + shape_text(shape));
}

GroupedDescription description_of(const View& a, const View& b, const View& out, const View& offsets) {
  if (a.dimensions != 2) fail(PyExc_ValueError, "grouped_matmul: a: expected 2 dimensions, rows and k");
  if (b.dimensions != 3) fail(PyExc_ValueError, "grouped_matmul: b: expected 3 dimensions, groups, k and n");
  const std::int64_t rows = a.extents[0], k = a.extents[1], groups = b.extents[0], n = b.extents[2];
  check_shape(b, "b", {groups, k, n});
  check_shape(out, "out", {rows, n});
  check_shape(offsets, "offsets", {groups + 1});
  if (offsets.type != ElementType::i64 || (groups > 0 && offsets.strides[0] != 1))
    fail(PyExc_TypeError, "grouped_matmul: offsets: expected contiguous elements of type int64");
  return {.types = {a.type, out.type, b.type},
          .groups = groups,
          .total_rows = rows,
          .n = n,
          .k = k,
          .a = {.row_stride = a.strides[0], .column_stride = a.strides[1]},
          .b = {.row_stride = b.strides[1], .column_stride = b.strides[2], .batch_stride = b.strides[0]},
          .c = {.row_stride = out.strides[0], .column_stride = out.strides[1]}};
}

/// Contiguous factors of the type that sums, of that shape; null where there are none.
const void* scales_of(const std::optional<View>& scales, const char* name, ElementType type,
                      std::initializer_list<std::int64_t> shape) {
  if (!scales) return nullptr;
  check_shape(*scales, name, shape);
  if (scales->type != type)
    fail(PyExc_TypeError,
         "grouped_matmul: " + std::string(name) + ": expected elements of type " + std::string(to_string(type)));
  return scales->data;
}

void grouped_multiply(const View& a, const View& b, const View& out, const View& offsets, nb::handle accuracy,
                      nb::handle backend, nb::handle alpha, nb::handle beta, const std::optional<View>& row_scales,
                      const std::optional<View>& column_scales, nb::handle threads, nb::handle reproducible,
                      std::uintptr_t stream) {
  if (a.device != b.device || a.device != out.device || a.device != offsets.device)
    fail(PyExc_ValueError, "grouped_matmul: a, b, offsets and out lie on different devices");
  if (out.read_only) fail(PyExc_ValueError, "grouped_matmul: out is read-only");
  GemmOptions options{.backend = backend_of(backend),
                      .accuracy = accuracy_of(accuracy),
                      .threads = threads_of(threads),
                      .reproducible = flag_of(reproducible, "reproducible")};
  place(options, out);
  GroupedDescription description = description_of(a, b, out, offsets);
  description.row_scales = row_scales.has_value();
  description.column_scales = column_scales.has_value();
  const ElementType sums = accumulator_type(description.types);
  const GroupedArguments arguments{
      .a = a.data,
      .b = b.data,
      .c = out.data,
      .offsets = static_cast<const std::int64_t*>(offsets.data),
      .alpha = scalar_of(alpha, a.type, "alpha"),
      .beta = scalar_of(beta, a.type, "beta"),
      .row_scales = scales_of(row_scales, "row_scales", sums, {a.extents[0]}),
      .column_scales = scales_of(column_scales, "column_scales", sums, {b.extents[0], b.extents[2]})};
  const Execution execution{.queue = reinterpret_cast<void*>(stream)};  // NOLINT(performance-no-int-to-ptr)
  Status status;
  {
    const nb::gil_scoped_release others_may_run;
    const auto plan = GroupedPlan::make(description, options);
    status = plan.ok() ? plan.value().run(arguments, execution) : plan.status();
  }
  raise_unless_ok(status);
}

}  // namespace

void add_grouped(nb::module_& module) {
  module.def("grouped_multiply", &grouped_multiply, nb::arg("a"), nb::arg("b"), nb::arg("out"), nb::arg("offsets"),
             nb::kw_only(), nb::arg("accuracy").none(), nb::arg("backend").none(), nb::arg("alpha").none(),
             nb::arg("beta").none(), nb::arg("row_scales").none(), nb::arg("column_scales").none(),
             nb::arg("threads").none(), nb::arg("reproducible").none(), nb::arg("stream"),
             nb::sig("def grouped_multiply(a: View, b: View, out: View, offsets: View, *, accuracy: str, backend: str, "
                     "alpha: typing.Any, beta: typing.Any, row_scales: View | None, column_scales: View | None, "
                     "threads: int | None, reproducible: bool, stream: int) -> None"),
             "Multiplies groups of rows of `a` by the matrices of `b` into `out`.");
}

}  // namespace exactile::python
