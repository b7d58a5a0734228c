// SPDX-License-Identifier: Apache-2.0
#include "opencl/executable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "opencl/families/reduce.hpp"
#include "opencl/host_operands.hpp"

namespace exactile::opencl {
namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

/// Bytes of the largest dense copy of an operand. Broadcast operands of any size fit in a few bytes of the host's
/// memory.
double largest_copy(const GemmDescription& d) {
  const auto bytes = [&](std::int64_t rows, std::int64_t columns, const OperandLayout& layout, ElementType type) {
    const bool is_shared = !layout.pointer_array && layout.batch_stride == 0;
    return as_double(rows) * as_double(columns) * as_double(size_in_bytes(type)) *
           (is_shared ? 1.0 : as_double(d.batch_count));
  };
  return std::max(
      {bytes(d.m, d.k, d.a, d.types.input), bytes(d.k, d.n, d.b, d.types.input), bytes(d.m, d.n, d.c, d.types.output)});
}

bool has_pointer_array(const GemmDescription& d) { return d.a.pointer_array || d.b.pointer_array || d.c.pointer_array; }

/// What the kernel is prepared for: dense copies, or single products where operands are arrays of pointers, which
/// OpenCL has not got.
plan::Problem as_launched(plan::Problem problem, bool copied) {
  GemmDescription& d = problem.description;
  if (copied) {
    d.a = copied_layout(d.a, d.m, d.k);
    d.b = copied_layout(d.b, d.k, d.n);
    d.c = copied_layout(d.c, d.m, d.n);
  } else if (has_pointer_array(d)) {
    d.batch_count = 1;
    for (OperandLayout* layout : {&d.a, &d.b, &d.c}) layout->pointer_array = false;
  }
  return problem;
}

/// Where product `p` of an operand begins: `steps` of `bytes` behind the first one, or where its pointer says.
void* matrix_of(const void* data, const OperandLayout& layout, std::int64_t p, std::int64_t bytes) {
  if (layout.pointer_array) return static_cast<void* const*>(data)[p];
  return const_cast<char*>(static_cast<const char*>(data) + p * layout.batch_stride * bytes);
}

class OnDevice final : public plan::Executable {
 public:
  OnDevice(const Kernel& kernel, const plan::Problem& problem, const Device& device)
      : d_(problem.description),
        device_index_(problem.device),
        memory_(problem.memory),
        copies_(problem.memory == Memory::host && !device.is_cpu),
        product_(kernel.prepare(as_launched(problem, copies_), device)) {}

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override {
    if (memory_ == Memory::device) return run_on_buffers(arguments, execution);
    Result<Runtime*> runtime = Runtime::of(device_index_);
    if (!runtime.ok()) return runtime.status();
    if (copies_) return run_on_copies(*runtime.value(), arguments);
    if (!has_pointer_array(d_)) return run_in_place(*runtime.value(), arguments, d_.batch_count);
    for (std::int64_t p = 0; p < d_.batch_count; ++p) {
      GemmArguments one = arguments;
      one.a = matrix_of(arguments.a, d_.a, p, size_in_bytes(d_.types.input));
      one.b = matrix_of(arguments.b, d_.b, p, size_in_bytes(d_.types.input));
      one.c = matrix_of(arguments.c, d_.c, p, size_in_bytes(d_.types.output));
      if (Status s = run_in_place(*runtime.value(), one, 1); !s.ok()) return s;
    }
    return {};
  }
  [[nodiscard]] std::string blocking() const override { return product_->blocking(); }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return product_->workspace_bytes(); }
  [[nodiscard]] double model_bytes() const override {
    return product_->model_bytes() * (!copies_ && has_pointer_array(d_) ? static_cast<double>(d_.batch_count) : 1.0);
  }

 private:
  /// A, B, C, the bias, the scales of rows and of columns. What the description does not have is null.
  [[nodiscard]] std::array<HostOperand, 6> host_operands(const GemmArguments& arguments) const {
    const auto vector = [](const void* data, bool is_there, std::int64_t length, ElementType type) -> HostOperand {
      return {is_there ? const_cast<void*>(data) : nullptr, 1, length, {.row_stride = length}, type};
    };
    const ElementType sum = accumulator_type(d_.types.input);
    return {{{d_.k == 0 ? nullptr : const_cast<void*>(arguments.a), d_.m, d_.k, d_.a, d_.types.input},
             {d_.k == 0 ? nullptr : const_cast<void*>(arguments.b), d_.k, d_.n, d_.b, d_.types.input},
             {arguments.c, d_.m, d_.n, d_.c, d_.types.output},
             vector(arguments.bias, d_.bias != Bias::none, d_.bias == Bias::per_row ? d_.m : d_.n, d_.types.output),
             vector(arguments.row_scales, d_.row_scales, d_.m, sum),
             vector(arguments.column_scales, d_.column_scales, d_.n, sum)}};
  }

  /// No pointer arrays here.
  [[nodiscard]] Status run_in_place(Runtime& runtime, const GemmArguments& arguments, std::int64_t batch_count) const {
    const auto queue = runtime.queue();
    if (!queue.ok()) return queue.status();
    InPlaceOperands operands(runtime);
    if (Status s = operands.map(host_operands(arguments), batch_count); !s.ok()) return s;
    const Status launched = product_->launch({.runtime = runtime,
                                              .queue = queue.value().get(),
                                              .a = operands.span(0),
                                              .b = operands.span(1),
                                              .c = operands.span(2),
                                              .bias = operands.span(3),
                                              .row_scales = operands.span(4),
                                              .column_scales = operands.span(5),
                                              .alpha = arguments.alpha,
                                              .beta = arguments.beta});
    // What was enqueued before a failure must not run on after the buffers are gone.
    const Status shown = operands.show(queue.value().get(), 2);
    runtime.finished(queue.value().get());
    return launched.ok() ? shown : launched;
  }

  [[nodiscard]] Status run_on_copies(Runtime& runtime, const GemmArguments& arguments) const {
    const auto lent = runtime.queue();
    if (!lent.ok()) return lent.status();
    cl_command_queue queue = lent.value().get();
    const auto host = host_operands(arguments);
    CopiedOperand a(runtime, host[0], d_.batch_count);
    CopiedOperand b(runtime, host[1], d_.batch_count);
    CopiedOperand c(runtime, host[2], d_.batch_count);
    std::array<CopiedOperand, 3> vectors{CopiedOperand(runtime, host[3], 1), CopiedOperand(runtime, host[4], 1),
                                         CopiedOperand(runtime, host[5], 1)};
    if (d_.k != 0) {
      if (Status s = a.allocate("a"); !s.ok()) return s;
      if (Status s = b.allocate("b"); !s.ok()) return s;
      if (Status s = a.upload(queue); !s.ok()) return s;
      if (Status s = b.upload(queue); !s.ok()) return s;
    }
    if (Status s = c.allocate("c"); !s.ok()) return s;
    if (!arguments.beta.is_zero())
      if (Status s = c.upload(queue); !s.ok()) return s;
    constexpr std::array names{"the bias", "row_scales", "column_scales"};
    for (std::size_t v = 0; v < vectors.size(); ++v) {
      if (host[3 + v].data == nullptr) continue;
      if (Status s = vectors[v].allocate(names[v]); !s.ok()) return s;
      if (Status s = vectors[v].upload(queue); !s.ok()) return s;
    }
    const Status launched = product_->launch({.runtime = runtime,
                                              .queue = queue,
                                              .a = a.span(),
                                              .b = b.span(),
                                              .c = c.span(),
                                              .bias = vectors[0].span(),
                                              .row_scales = vectors[1].span(),
                                              .column_scales = vectors[2].span(),
                                              .alpha = arguments.alpha,
                                              .beta = arguments.beta});
    const Status finished = launched.ok() ? c.download(queue) : check(api()->clFinish(queue), "clFinish");
    runtime.finished(queue);
    return launched.ok() ? finished : launched;
  }

  [[nodiscard]] Status run_on_buffers(const GemmArguments& arguments, const Execution& execution) const {
    Result<Runtime*> runtime = execution.queue == nullptr ? Runtime::of(device_index_)
                                                          : Runtime::of(static_cast<cl_command_queue>(execution.queue));
    if (!runtime.ok()) return runtime.status();
    auto* queue = static_cast<cl_command_queue>(execution.queue);
    if (queue == nullptr) {
      const Result<cl_command_queue> own = runtime.value()->default_queue();
      if (!own.ok()) return own.status();
      queue = own.value();
    }
    const std::int64_t launches = has_pointer_array(d_) ? d_.batch_count : 1;
    for (std::int64_t p = 0; p < launches; ++p) {
      Launch launch{.runtime = *runtime.value(), .queue = queue, .alpha = arguments.alpha, .beta = arguments.beta};
      const ElementType in = d_.types.input;
      const ElementType out = d_.types.output;
      if (arguments.a != nullptr)  // what only scales C may come without A and B
        if (Status s = locate(arguments.a, d_.a, p, in, "a", launch.a); !s.ok()) return s;
      if (arguments.b != nullptr)
        if (Status s = locate(arguments.b, d_.b, p, in, "b", launch.b); !s.ok()) return s;
      if (Status s = locate(arguments.c, d_.c, p, out, "c", launch.c); !s.ok()) return s;
      if (d_.bias != Bias::none)
        if (Status s = locate(arguments.bias, {}, 0, out, "bias", launch.bias); !s.ok()) return s;
      const ElementType sum = accumulator_type(in);
      if (d_.row_scales)
        if (Status s = locate(arguments.row_scales, {}, 0, sum, "row_scales", launch.row_scales); !s.ok()) return s;
      if (d_.column_scales)
        if (Status s = locate(arguments.column_scales, {}, 0, sum, "column_scales", launch.column_scales); !s.ok())
          return s;
      if (Status s = product_->launch(launch); !s.ok()) return s;
    }
    return check(api()->clFlush(queue), "clFlush");
  }

  /// The span of product `p` of an operand that lies in buffers.
  [[nodiscard]] static Status locate(const void* argument, const OperandLayout& layout, std::int64_t p,
                                     ElementType type, const char* name, BufferSpan& span) {
    const void* found = layout.pointer_array ? static_cast<const void* const*>(argument)[p] : argument;
    if (found == nullptr)
      return {StatusCode::invalid_argument, fmt::format("{} (product {}) is null: expected a BufferSpan", name, p)};
    span = *static_cast<const BufferSpan*>(found);
    const std::int64_t size = size_in_bytes(type);
    if (span.memory == nullptr || span.byte_offset < 0 || span.byte_offset % size != 0)
      return {StatusCode::invalid_argument, fmt::format("{}: byte_offset = {}: expected a buffer and a multiple of {}",
                                                        name, span.byte_offset, size)};
    if (!layout.pointer_array) span.byte_offset += p * layout.batch_stride * size;
    return {};
  }

  GemmDescription d_;
  int device_index_;
  Memory memory_;
  bool copies_;
  std::unique_ptr<DeviceProduct> product_;
};

/// The end of a product without the product.
class Scaling final : public DeviceProduct {
 public:
  explicit Scaling(const plan::Problem& problem) : d_(problem.description) {}
  [[nodiscard]] Status launch(const Launch& launch) const override {
    Launch without_alpha = launch;
    without_alpha.alpha = 0;  // an infinite alpha times a sum of nothing is no NaN
    return enqueue_reduce(without_alpha, d_, 0, nullptr);
  }
  [[nodiscard]] std::string blocking() const override { return {}; }
  [[nodiscard]] double model_bytes() const override { return 0; }

 private:
  GemmDescription d_;
};

const Kernel scaling{.name = "opencl_scaling",
                     .role = "engine",
                     .summary = "C scaled",
                     .types = {},
                     .refuses = nullptr,
                     .cost = nullptr,
                     .prepare = [](const plan::Problem& p, const Device&) -> std::unique_ptr<DeviceProduct> {
                       return std::make_unique<Scaling>(p);
                     }};

}  // namespace

const Device& device_of(const plan::Problem& problem) {
  return all_devices()[static_cast<std::size_t>(problem.device)];
}

TuningTarget tuning_target(const Tunable& tunable, GemmTypes types, int device) {
  const Device& d = all_devices()[static_cast<std::size_t>(device)];
  TuningTarget target{.version = tunable.version, .device = d.name, .driver = d.driver, .is_cpu = d.is_cpu};
  tuning::Space space = tunable.space(d, types);
  for (tuning::Range& range : space) target.space.push_back({std::string(range.name), std::move(range.values)});
  return target;
}

std::unique_ptr<plan::Executable> make_executable(const Kernel& kernel, const plan::Problem& problem) {
  return std::make_unique<OnDevice>(kernel, problem, device_of(problem));
}

std::unique_ptr<plan::Executable> prepare_scaling(const plan::Problem& problem) {
  return make_executable(scaling, problem);
}

std::string_view why_refused(const Kernel& kernel, const plan::Problem& problem) {
  const Device& device = device_of(problem);
  if (!has_type(device, accumulator_type(problem.description.types.input)))
    return "the device has no double precision (cl_khr_fp64)";
  if (problem.memory == Memory::host && !device.is_cpu &&
      largest_copy(problem.description) > as_double(device.max_buffer_bytes))
    return with_limit("a copy of an operand would be larger than the device's largest buffer", device.max_buffer_bytes,
                      "bytes");
  return kernel.refuses(problem, device);
}

}  // namespace exactile::opencl
