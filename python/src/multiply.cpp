// SPDX-License-Identifier: Apache-2.0
#include "multiply.hpp"

#include <algorithm>
#include <utility>

namespace exactile::python {
namespace {

std::string both_shapes(const View& a, const View& b) {
  return "a has shape " + shape_text(a.shape()) + " and b has shape " + shape_text(b.shape());
}

/// How many axes of an operand count the products of its stack.
int stack_axes(const View& v) { return std::max(v.dimensions - 2, 0); }

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The step of axis `index` of `all` stack axes, of which the operand has the last ones; 0 where it is repeated.
std::int64_t stack_stride(const View& v, int index, int all) {
  const int own = index - (all - stack_axes(v));
  return own < 0 || v.extents[at(own)] == 1 ? 0 : v.strides[at(own)];
}

OperandLayout layout_a(const View& a) {
  if (a.dimensions == 1) return {.row_stride = std::max<std::int64_t>(a.extents[0], 1), .column_stride = a.strides[0]};
  return {.row_stride = a.stride_from_end(2), .column_stride = a.stride_from_end(1)};
}

OperandLayout layout_b(const View& b) {
  if (b.dimensions == 1) return {.row_stride = b.strides[0], .column_stride = 1};
  return {.row_stride = b.stride_from_end(2), .column_stride = b.stride_from_end(1)};
}

/// Where A or B is a vector, C lacks its rows or its columns.
OperandLayout layout_c(const View& c, bool has_rows, bool has_columns, std::int64_t n) {
  return {.row_stride = has_rows ? c.stride_from_end(has_columns ? 2 : 1) : std::max<std::int64_t>(n, 1),
          .column_stride = has_columns ? c.stride_from_end(1) : 1};
}

/// Appends an axis, or lengthens the last one where all three operands walk on evenly.
void append(Stack& stack, const StackAxis& axis) {
  if (axis.extent == 1) return;
  if (stack.axes > 0) {
    StackAxis& last = stack.outer[at(stack.axes - 1)];
    if (last.a == axis.extent * axis.a && last.b == axis.extent * axis.b && last.c == axis.extent * axis.c) {
      last = {last.extent * axis.extent, axis.a, axis.b, axis.c};
      return;
    }
  }
  stack.outer[at(stack.axes++)] = axis;
}

/// The longest axis becomes the library's batch.
void take_batch(Stack& stack) {
  if (stack.axes == 0) return;
  auto* const end = stack.outer.begin() + stack.axes;
  auto* const longest = std::ranges::max_element(stack.outer.begin(), end, {}, &StackAxis::extent);
  GemmDescription& d = stack.description;
  d.batch_count = longest->extent;
  d.a.batch_stride = longest->a;
  d.b.batch_stride = longest->b;
  d.c.batch_stride = longest->c;
  std::copy(longest + 1, end, longest);
  --stack.axes;
}

Status run_from(const Stack& stack, int axis, const GemmArguments& first, const Request& request) {
  if (axis == stack.axes) return gemm(stack.description, first, request.options, request.execution);
  const GemmTypes types = stack.description.types;
  const StackAxis& step = stack.outer[at(axis)];
  GemmArguments arguments = first;
  for (std::int64_t i = 0; i < step.extent; ++i) {
    arguments.a = static_cast<const char*>(first.a) + i * step.a * size_in_bytes(types.input);
    arguments.b = static_cast<const char*>(first.b) + i * step.b * size_in_bytes(types.input_b);
    arguments.c = static_cast<char*>(first.c) + i * step.c * size_in_bytes(types.output);
    if (Status s = run_from(stack, axis + 1, arguments, request); !s.ok()) return s;
  }
  return {};
}

/// A vector beside C: `length` elements one behind the other.
void check_vector(const View& v, const char* name, std::int64_t length, ElementType type) {
  if (v.dimensions != 1 || v.extents[0] != length)
    fail(PyExc_ValueError,
         std::string(name) + " has shape " + shape_text(v.shape()) + ": expected (" + std::to_string(length) + ",)");
  if (v.type != type || (length > 1 && v.strides[0] != 1))
    fail(PyExc_ValueError,
         std::string(name) + ": expected contiguous elements of type " + std::string(name_of_type(type)));
}

}  // namespace

Shape result_shape(const View& a, const View& b) {
  if (a.dimensions == 0 || b.dimensions == 0)
    fail(PyExc_ValueError, "matmul: " + std::string(a.dimensions == 0 ? "a" : "b") +
                               " has no dimensions: expected 1 or more (multiply by a scalar with alpha)");
  const std::int64_t rows_b = b.extent_from_end(b.dimensions == 1 ? 1 : 2);
  if (a.extent_from_end(1) != rows_b)
    fail(PyExc_ValueError, "matmul: " + both_shapes(a, b) + ": expected the last axis of a, " +
                               std::to_string(a.extent_from_end(1)) + ", and the " +
                               (b.dimensions == 1 ? "only" : "second-last") + " axis of b, " + std::to_string(rows_b) +
                               ", to be equal");
  Shape shape;
  const int stacks = std::max(stack_axes(a), stack_axes(b));
  for (; shape.dimensions < stacks; ++shape.dimensions) {
    const int in_a = shape.dimensions - (stacks - stack_axes(a));
    const int in_b = shape.dimensions - (stacks - stack_axes(b));
    const std::int64_t x = in_a < 0 ? 1 : a.extents[at(in_a)];
    const std::int64_t y = in_b < 0 ? 1 : b.extents[at(in_b)];
    if (x != y && x != 1 && y != 1)
      fail(PyExc_ValueError, "matmul: " + both_shapes(a, b) + ": expected stacks that can be broadcast together");
    shape.extents[at(shape.dimensions)] = x == 1 ? y : x;
  }
  if (a.dimensions > 1) shape.extents[at(shape.dimensions++)] = a.extent_from_end(2);
  if (b.dimensions > 1) shape.extents[at(shape.dimensions++)] = b.extent_from_end(1);
  return shape;
}

Stack stack_of(const View& a, const View& b, const View& c) {
  const Shape shape = result_shape(a, b);
  if (!std::ranges::equal(shape.span(), c.shape()))
    fail(PyExc_ValueError, "matmul: out has shape " + shape_text(c.shape()) + ": expected " + shape_text(shape.span()));
  const auto is_byte = [](ElementType type) { return type == ElementType::i8 || type == ElementType::u8; };
  if (a.type != b.type && !(is_byte(a.type) && is_byte(b.type)))
    fail(PyExc_TypeError, "matmul: a has elements of type " + std::string(name_of_type(a.type)) + " and b of type " +
                              std::string(name_of_type(b.type)) + ": expected one type");
  Stack stack;
  GemmDescription& d = stack.description;
  d.types = {a.type, c.type, b.type};
  d.m = a.dimensions == 1 ? 1 : a.extent_from_end(2);
  d.n = b.dimensions == 1 ? 1 : b.extent_from_end(1);
  d.k = a.extent_from_end(1);
  d.a = layout_a(a);
  d.b = layout_b(b);
  d.c = layout_c(c, a.dimensions > 1, b.dimensions > 1, d.n);
  const int stacks = std::max(stack_axes(a), stack_axes(b));
  for (int i = 0; i < stacks; ++i)
    append(stack, {shape.extents[at(i)], stack_stride(a, i, stacks), stack_stride(b, i, stacks), c.strides[at(i)]});
  take_batch(stack);
  return stack;
}

void add_epilogue(GemmDescription& d, const Request& request) {
  d.activation = request.activation;
  const ElementType sums = accumulator_type(d.types);
  if (request.bias) {
    const bool per_row = request.bias->dimensions == 2;
    d.bias = per_row ? Bias::per_row : Bias::per_column;
    View vector = *request.bias;
    if (per_row && vector.extents[1] == 1) vector.dimensions = 1;  // (m, 1)
    check_vector(vector, "bias", per_row ? d.m : d.n, d.types.output);
  }
  d.row_scales = request.row_scales.has_value();
  if (d.row_scales) check_vector(*request.row_scales, "row_scales", d.m, sums);
  d.column_scales = request.column_scales.has_value();
  if (d.column_scales) check_vector(*request.column_scales, "column_scales", d.n, sums);
}

GemmArguments arguments_of(const View& a, const View& b, const View& c, const Request& request) {
  GemmArguments arguments{.a = a.data, .b = b.data, .c = c.data, .alpha = request.alpha, .beta = request.beta};
  if (request.bias) arguments.bias = request.bias->data;
  if (request.row_scales) arguments.row_scales = request.row_scales->data;
  if (request.column_scales) arguments.column_scales = request.column_scales->data;
  return arguments;
}

void multiply(const View& a, const View& b, const View& c, const Request& request) {
  if (c.read_only) fail(PyExc_ValueError, "matmul: out is read-only");
  Stack stack = stack_of(a, b, c);
  add_epilogue(stack.description, request);
  const GemmArguments first = arguments_of(a, b, c, request);
  Status status;
  {
    const nb::gil_scoped_release others_may_run;
    status = run_from(stack, 0, first, request);
  }
  raise_unless_ok(status);
}

void place(GemmOptions& options, const View& c) {
  if (c.device < 0) return;
  if (options.backend == Backend::automatic) options.backend = Backend::cuda;
  options.memory = Memory::device;
  options.device = c.device;
}

}  // namespace exactile::python
