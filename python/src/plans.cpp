// SPDX-License-Identifier: Apache-2.0
// Products that are planned once, and operands that are brought once into the form that a kernel reads.
#include <nanobind/stl/string.h>

#include "module.hpp"
#include "multiply.hpp"
#include "numpy.hpp"
#include "options.hpp"

namespace exactile::python {
namespace {

/// What a kernel reads in place of a view's elements.
struct Prepared {
  View view;
  PreparedOperand form;
};

/// An operand of a run: a view, or what was prepared of one.
struct Given {
  const View* view = nullptr;
  const PreparedOperand* form = nullptr;
};

Given given(nb::handle operand) {
  if (nb::isinstance<Prepared>(operand)) {
    const auto& prepared = nb::cast<const Prepared&>(operand);
    return {&prepared.view, &prepared.form};
  }
  return {&nb::cast<const View&>(operand), nullptr};
}

Execution on(std::uintptr_t stream) {
  return {.queue = reinterpret_cast<void*>(stream)};  // NOLINT(performance-no-int-to-ptr)
}

/// A plan for operands that lie as a, b and c do.
class ArrayPlan {
 public:
  ArrayPlan(const View& a, const View& b, const View& c, const GemmOptions& options) : plan_(make(a, b, c, options)) {}

  void run(nb::handle a, nb::handle b, const View& c, nb::handle alpha, nb::handle beta, std::uintptr_t stream) const {
    run_given(given(a), given(b), c, alpha, beta, stream);
  }

  /// Of NumPy's arrays that are as they must be; None for others, and nothing has happened then.
  nb::object straight(nb::handle a, nb::handle b, nb::handle out, nb::handle alpha, nb::handle beta) const {
    View view_a;
    View view_b;
    View view_c;
    if (!view_numpy_pair(a, b, view_a, view_b) || !view_numpy_out(a, view_a.type, out, view_c)) return nb::none();
    if (out.is_none() && PyObject_IsTrue(beta.ptr()) != 0) return nb::none();
    nb::object made =
        out.is_none() ? new_numpy(a, result_shape(view_a, view_b).span(), view_c) : nb::borrow<nb::object>(out);
    if (view_c.type != plan_.description().types.output) return nb::none();
    run_given({&view_a}, {&view_b}, view_c, alpha, beta, 0);
    return out.is_none() ? number_if_alone(std::move(made), view_c) : made;
  }

  [[nodiscard]] Prepared prepare(nb::handle name, const View& view, std::uintptr_t stream) const {
    const std::string_view operand = text_of(name, "operand");
    if (operand != "a" && operand != "b")
      fail(PyExc_ValueError, "operand = '" + std::string(operand) + "': expected 'a' or 'b'");
    const auto made = [&] {
      const nb::gil_scoped_release others_may_run;
      return plan_.prepare(operand == "a" ? Operand::a : Operand::b, view.data, on(stream));
    }();
    raise_unless_ok(made.status());
    return {view, made.value()};
  }

  [[nodiscard]] nb::dict summary() const;
  [[nodiscard]] std::string text() const { return plan_.explain(); }

 private:
  void run_given(const Given& left, const Given& right, const View& c, nb::handle alpha, nb::handle beta,
                 std::uintptr_t stream) const {
    if (c.read_only) fail(PyExc_ValueError, "out is read-only");
    if (stack_of(*left.view, *right.view, c).description != plan_.description() || left.view->device != device_ ||
        right.view->device != device_ || c.device != device_)
      fail(PyExc_ValueError, "a, b or out: expected the shape, type, strides and device that the plan was made for");
    const GemmArguments arguments{.a = left.form == nullptr ? left.view->data : nullptr,
                                  .b = right.form == nullptr ? right.view->data : nullptr,
                                  .c = c.data,
                                  .alpha = scalar_of(alpha, left.view->type, "alpha"),
                                  .beta = scalar_of(beta, left.view->type, "beta"),
                                  .prepared_a = left.form,
                                  .prepared_b = right.form};
    Status status;
    {
      const nb::gil_scoped_release others_may_run;
      status = plan_.run(arguments, on(stream));
    }
    raise_unless_ok(status);
  }

  Plan make(const View& a, const View& b, const View& c, const GemmOptions& options) {
    const Stack stack = stack_of(a, b, c);
    if (stack.axes > 0)
      fail(PyExc_ValueError, "a plan is for one batch: these stacks have more axes than one stride can walk along");
    device_ = c.device;
    auto plan = Plan::make(stack.description, options);
    raise_unless_ok(plan.status());
    return std::move(plan).value();
  }

  int device_ = -1;
  Plan plan_;
};

nb::dict ArrayPlan::summary() const {
  const PlanSummary summary = plan_.summary();
  const GemmDescription& d = plan_.description();
  nb::list candidates;
  for (const Candidate& candidate : summary.candidates) {
    nb::dict entry;
    entry["kernel"] = candidate.kernel;
    entry["backend"] = std::string(to_string(candidate.backend));
    entry["chosen"] = candidate.chosen;
    entry["supported"] = candidate.supported;
    entry["cost_seconds"] = candidate.cost_seconds;
    entry["reason"] = candidate.reason;
    candidates.append(entry);
  }
  nb::dict all;
  all["m"] = d.m;
  all["n"] = d.n;
  all["k"] = d.k;
  all["batch"] = d.batch_count;
  all["types"] = to_string(d.types);
  all["kernel"] = summary.kernel;
  all["backend"] = std::string(to_string(summary.backend));
  all["blocking"] = summary.blocking;
  all["accumulator"] = summary.accumulator;
  all["threads"] = summary.threads;
  all["workspace_bytes"] = summary.workspace_bytes;
  all["operations"] = summary.operations;
  all["minimum_bytes"] = summary.minimum_bytes;
  all["candidates"] = candidates;
  return all;
}

void make_plan(ArrayPlan* self, const View& a, const View& b, const View& c, nb::handle accuracy, nb::handle backend,
               nb::handle threads, nb::handle kernel, nb::handle parameters, nb::handle reproducible) {
  GemmOptions options{.backend = backend_of(backend),
                      .kernel = std::string(text_of(kernel, "kernel")),
                      .accuracy = accuracy_of(accuracy),
                      .threads = threads_of(threads),
                      .parameters = std::string(text_of(parameters, "parameters")),
                      .reproducible = flag_of(reproducible, "reproducible")};
  place(options, c);
  new (self) ArrayPlan(a, b, c, options);
}

}  // namespace

void add_plans(nb::module_& module) {
  nb::class_<Prepared>(module, "PreparedView", "An operand in the form that a kernel reads.")
      .def_prop_ro("bytes", [](const Prepared& prepared) { return prepared.form.bytes(); })
      .def_prop_ro("view", [](const Prepared& prepared) { return prepared.view; });
  nb::class_<ArrayPlan>(module, "ViewPlan", "A planned product of views.")
      .def("__init__", &make_plan, nb::arg("a"), nb::arg("b"), nb::arg("out"), nb::kw_only(),
           nb::arg("accuracy").none(), nb::arg("backend").none(), nb::arg("threads").none(), nb::arg("kernel").none(),
           nb::arg("parameters").none(), nb::arg("reproducible").none(),
           nb::sig("def __init__(self, a: View, b: View, out: View, *, accuracy: str, backend: str, "
                   "threads: int | None, kernel: str, parameters: str, reproducible: bool) -> None"))
      .def("run", &ArrayPlan::run, nb::arg("a"), nb::arg("b"), nb::arg("out"), nb::arg("alpha").none(),
           nb::arg("beta").none(), nb::arg("stream") = 0,
           nb::sig("def run(self, a: View | PreparedView, b: View | PreparedView, out: View, alpha: typing.Any, "
                   "beta: typing.Any, stream: int = 0) -> None"))
      .def("straight", &ArrayPlan::straight, nb::arg("a").none(), nb::arg("b").none(), nb::arg("out").none(),
           nb::arg("alpha").none(), nb::arg("beta").none(),
           nb::sig("def straight(self, a: typing.Any, b: typing.Any, out: typing.Any, alpha: typing.Any, "
                   "beta: typing.Any) -> typing.Any"))
      .def("prepare", &ArrayPlan::prepare, nb::arg("operand").none(), nb::arg("view"), nb::arg("stream") = 0)
      .def("summary", &ArrayPlan::summary, nb::sig("def summary(self) -> dict[str, typing.Any]"))
      .def("text", &ArrayPlan::text);
}

}  // namespace exactile::python
