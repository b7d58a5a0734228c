// SPDX-License-Identifier: Apache-2.0
// The product as XLA calls it: exactile/jax.py registers these handlers. No Python runs here, and XLA's threads may not
// hold the GIL; arrays are contiguous, their stacks equally long.
#include "module.hpp"
#include "multiply.hpp"
#include "options.hpp"
#include "xla_ffi.hpp"

namespace exactile::python {
namespace {

xla::Error* failed(const xla::CallFrame& frame, int code, const std::string& sentence) {
  xla::CreateError error{sizeof error, nullptr, sentence.c_str(), code};
  return frame.api->create_error(&error);
}

xla::Error* answer_metadata(xla::MetadataExtension& extension) {
  extension.metadata->version = {};
  extension.metadata->traits = 0;
  return nullptr;
}

std::optional<ElementType> element_type(int type) {
  switch (type) {
    case xla::f64: return ElementType::f64;
    case xla::f32: return ElementType::f32;
    case xla::f16: return ElementType::f16;
    case xla::bf16: return ElementType::bf16;
    case xla::f8e4m3fn: return ElementType::f8e4m3;
    case xla::f8e5m2: return ElementType::f8e5m2;
    case xla::s64:
    case xla::u64: return ElementType::i64;
    case xla::s32:
    case xla::u32: return ElementType::i32;
    case xla::s8: return ElementType::i8;
    case xla::c128: return ElementType::cf64;
    case xla::c64: return ElementType::cf32;
    default: return std::nullopt;
  }
}

/// A stack of matrices, one behind the other.
OperandLayout layout(const xla::Buffer& buffer) {
  const std::int64_t rows = buffer.extents[buffer.rank - 2];
  const std::int64_t columns = buffer.extents[buffer.rank - 1];
  return {.row_stride = columns, .column_stride = 1, .batch_stride = rows * columns};
}

Status run(const xla::CallFrame& frame, const GemmOptions& options, const Execution& execution) {
  const auto& a = *static_cast<const xla::Buffer*>(frame.arguments.values[0]);
  const auto& b = *static_cast<const xla::Buffer*>(frame.arguments.values[1]);
  const auto& c = *static_cast<const xla::Buffer*>(frame.results.values[0]);
  const auto input = element_type(a.type);
  const auto output = element_type(c.type);
  if (!input || !output || a.type != b.type)
    return {StatusCode::invalid_argument, "exactile.jax: there is no product of these types"};
  GemmDescription d{.types = {*input, *output},
                    .m = c.extents[c.rank - 2],
                    .n = c.extents[c.rank - 1],
                    .k = a.extents[a.rank - 1],
                    .a = layout(a),
                    .b = layout(b),
                    .c = layout(c)};
  for (std::int64_t i = 0; i < c.rank - 2; ++i) d.batch_count *= c.extents[i];
  return gemm(d, {.a = a.data, .b = b.data, .c = c.data}, options, execution);
}

/// The one attribute: the number of an Accuracy.
Accuracy attribute(const xla::CallFrame& frame) {
  const auto& scalar = *static_cast<const xla::Scalar*>(frame.attributes.values[0]);
  return static_cast<Accuracy>(*static_cast<const std::int32_t*>(scalar.value));
}

xla::Error* multiply(xla::CallFrame* frame, bool on_gpu) {
  if (frame->extension != nullptr && frame->extension->type == 1)
    return answer_metadata(*reinterpret_cast<xla::MetadataExtension*>(frame->extension));
  if (frame->stage != 3) return nullptr;
  GemmOptions options{.accuracy = attribute(*frame)};
  Execution execution;
  if (on_gpu) {
    options.backend = Backend::cuda;
    options.memory = Memory::device;
    xla::GetStream stream{sizeof stream, nullptr, frame->context, nullptr};
    if (xla::Error* error = frame->api->get_stream(&stream); error != nullptr) return error;
    execution.queue = stream.stream;
  }
  const Status status = run(*frame, options, execution);
  if (status.ok()) return nullptr;
  return failed(*frame, status.code() == StatusCode::invalid_argument ? 3 : 13, std::string(status.message()));
}

xla::Error* multiply_on_cpu(xla::CallFrame* frame) { return multiply(frame, false); }
xla::Error* multiply_on_gpu(xla::CallFrame* frame) { return multiply(frame, true); }

nb::capsule capsule(xla::Error* (*handler)(xla::CallFrame*)) { return nb::capsule(reinterpret_cast<void*>(handler)); }

}  // namespace

void add_xla(nb::module_& module) {
  module.def(
      "xla_handler", [](bool on_gpu) { return capsule(on_gpu ? &multiply_on_gpu : &multiply_on_cpu); },
      nb::arg("on_gpu"), nb::sig("def xla_handler(on_gpu: bool) -> object"),
      "A capsule with the function that XLA calls for products on the processor or on a CUDA device.");
  module.def(
      "xla_accuracy", [](nb::handle name) { return static_cast<int>(accuracy_of(name)); }, nb::arg("name"),
      "What the function takes for an accuracy.");
}

}  // namespace exactile::python
