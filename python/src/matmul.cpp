// SPDX-License-Identifier: Apache-2.0
// matmul(): NumPy arrays that can be multiplied as they are go straight to the library; everything else is brought into
// that form by exactile/_general.py, which comes back through multiply().
#include "call.hpp"
#include "exchange.hpp"
#include "matmul_text.hpp"
#include "module.hpp"
#include "multiply.hpp"
#include "numpy.hpp"
#include "options.hpp"

namespace exactile::python {
namespace {

/// Whether a Python integer is this small one; false where it is another number of that value.
bool is_number(nb::handle number, long value) {
  int overflow = 0;
  return PyLong_CheckExact(number.ptr()) != 0 && PyLong_AsLongAndOverflow(number.ptr(), &overflow) == value &&
         overflow == 0;
}

bool all_none(std::initializer_list<nb::handle> objects) {
  for (const nb::handle object : objects)
    if (!object.is_none()) return false;
  return true;
}

Request request_of(ElementType input, nb::handle accuracy, nb::handle backend, nb::handle alpha, nb::handle beta,
                   nb::handle threads, nb::handle reproducible) {
  Request request;
  request.options.backend = backend_of(backend);
  request.options.accuracy = accuracy_of(accuracy);
  request.options.threads = threads_of(threads);
  request.options.reproducible = flag_of(reproducible, "reproducible");
  if (!is_number(alpha, 1)) request.alpha = scalar_of(alpha, input, "alpha");
  if (!is_number(beta, 0)) request.beta = scalar_of(beta, input, "beta");
  return request;
}

/// matmul()'s arguments.
struct Call {
  nb::handle a, b, out, dtype, accuracy, backend, alpha, beta, bias, activation, row_scales, column_scales, threads,
      reproducible;
};

Request request_of(const Call& call, ElementType input) {
  Request request =
      request_of(input, call.accuracy, call.backend, call.alpha, call.beta, call.threads, call.reproducible);
  if (call.out.is_none() && !request.beta.is_zero())
    fail(PyExc_ValueError, "matmul: beta is given without out, the array that it scales");
  return request;
}

nb::object general(const Call& c) {
  return nb::module_::import_("exactile._general")
      .attr("matmul")(c.a, c.b, c.out, c.dtype, c.accuracy, c.backend, c.alpha, c.beta, c.bias, c.activation,
                      c.row_scales, c.column_scales, c.threads, c.reproducible);
}

nb::object matmul(const Call& call) {
  const auto& [a, b, out, dtype, accuracy, backend, alpha, beta, bias, activation, row_scales, column_scales, threads,
               reproducible] = call;
  if (!all_none({dtype, bias, activation, row_scales, column_scales})) return general(call);
  View view_c;
  {
    View view_a;
    View view_b;
    if (view_numpy_pair(a, b, view_a, view_b) && view_numpy_out(a, view_a.type, out, view_c)) {
      const Request request = request_of(call, view_a.type);
      nb::object result = out.is_none() ? new_numpy(a, result_shape(view_a, view_b).span(), view_c) : nb::borrow(out);
      multiply(view_a, view_b, view_c, request);
      return out.is_none() ? number_if_alone(std::move(result), view_c) : result;
    }
  }
  ExchangedPair pair;
  if (!look_at_pair(a, b, pair) || !look_at_out(pair, a, out, view_c)) return general(call);
  Request request = request_of(call, pair.a.type);
  return multiply_exchanged(pair, a, out, view_c, request);
}

const Parameters* parameters = nullptr;

/// As Python calls it.
PyObject* matmul_called(PyObject*, PyObject* const* given, Py_ssize_t positions, PyObject* keywords) noexcept {
  try {
    const auto x = parameters->arguments(given, static_cast<std::size_t>(positions), keywords);
    return matmul({x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11], x[12], x[13]})
        .release()
        .ptr();
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

void add_matmul_itself(nb::module_& module) {
  const nb::object none = nb::none();
  parameters = new Parameters("matmul", {"a", "b"},
                              {{"out", none},
                               {"dtype", none},
                               {"accuracy", nb::str("standard")},
                               {"backend", nb::str("auto")},
                               {"alpha", nb::int_(1)},
                               {"beta", nb::int_(0)},
                               {"bias", none},
                               {"activation", none},
                               {"row_scales", none},
                               {"column_scales", none},
                               {"threads", none},
                               {"reproducible", nb::bool_(false)}});
  static PyMethodDef definitions[] = {
      {"matmul", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&matmul_called)),
       METH_FASTCALL | METH_KEYWORDS, matmul_text},
      {}};
  if (PyModule_AddFunctions(module.ptr(), definitions) != 0) throw nb::python_error();
}

std::optional<View> given(nb::handle view) {
  if (view.is_none()) return std::nullopt;
  return nb::cast<const View&>(view);
}

nb::tuple matmul_shape(const View& a, const View& b) {
  nb::list extents;
  const Shape shape = result_shape(a, b);
  for (const std::int64_t extent : shape.span()) extents.append(extent);
  return nb::tuple(extents);
}

void multiply_views(const View& a, const View& b, const View& out, nb::handle accuracy, nb::handle backend,
                    nb::handle alpha, nb::handle beta, nb::handle bias, nb::handle activation, nb::handle row_scales,
                    nb::handle column_scales, nb::handle threads, nb::handle reproducible, std::uintptr_t stream) {
  if (a.device != b.device || a.device != out.device)
    fail(PyExc_ValueError, "matmul: a, b and out lie on different devices");
  Request request = request_of(a.type, accuracy, backend, alpha, beta, threads, reproducible);
  place(request.options, out);
  request.execution.queue = reinterpret_cast<void*>(stream);  // NOLINT(performance-no-int-to-ptr)
  request.bias = given(bias);
  request.activation = activation_of(activation);
  request.row_scales = given(row_scales);
  request.column_scales = given(column_scales);
  multiply(a, b, out, request);
}

}  // namespace

void add_matmul(nb::module_& module) {
  add_matmul_itself(module);
  module.def("matmul_shape", &matmul_shape, nb::arg("a"), nb::arg("b"),
             nb::sig("def matmul_shape(a: View, b: View) -> tuple[int, ...]"),
             "The shape of the product of two views.");
  module.def("multiply", &multiply_views, nb::arg("a"), nb::arg("b"), nb::arg("out"), nb::kw_only(),
             nb::arg("accuracy").none() = "standard", nb::arg("backend").none() = "auto", nb::arg("alpha").none() = 1,
             nb::arg("beta").none() = 0, nb::arg("bias").none() = nb::none(), nb::arg("activation").none() = nb::none(),
             nb::arg("row_scales").none() = nb::none(), nb::arg("column_scales").none() = nb::none(),
             nb::arg("threads").none() = nb::none(), nb::arg("reproducible").none() = false, nb::arg("stream") = 0,
             nb::sig(multiply_signature),
             "Multiplies views that fit as they are into `out`; `stream` is the CUDA stream where they lie on a GPU.");
}

}  // namespace exactile::python
