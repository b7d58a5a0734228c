// SPDX-License-Identifier: Apache-2.0
#include "api/plan_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/backends.hpp"
#include "api/defaults.hpp"
#include "core/thread_count.hpp"
#include "plan/choice.hpp"
#include "plan/scales.hpp"
#include "plan/select.hpp"
#include "plan/validate.hpp"
#include "reference/naive.hpp"

namespace exactile::detail {
namespace {

Status invalid(std::string message) { return {StatusCode::invalid_argument, std::move(message)}; }

Status overlap(const char* output, std::string_view with) {
  return invalid(fmt::format(
      "{0} shares memory with {1}: expected a {0} that overlaps neither a, b, the bias nor the scales", output, with));
}

/// The process's own. Never destroyed: products run at exit, too.
plan::DeviceLedger& ledger() {
  static auto& all = *new plan::DeviceLedger;
  return all;
}

const plan::BackendEntry& backend_of(const plan::KernelEntry& kernel) {
  for (const plan::BackendEntry* backend : api::backends())
    if (backend->backend == kernel.backend) return *backend;
  return *api::backends().front();  // not reached: kernels come out of backends
}

/// What does the work of alpha = 0 or k = 0 where a kernel certifies: itself, but for operands in host memory a kernel
/// that computes there.
const plan::KernelEntry& scaler_of(const plan::KernelEntry& kernel, const plan::Problem& problem) {
  if (!kernel.on_device || problem.memory == Memory::device) return kernel;
  for (const plan::BackendEntry* backend : api::backends()) {
    if (backend->open != nullptr) continue;
    for (const plan::KernelEntry& entry : backend->kernels())
      if (entry.certifies && entry.unavailable(0).empty() && entry.refuses(problem).empty()) return entry;
  }
  return kernel;  // not reached: the portable kernel does all
}

plan::Footprint print_of(const OperandLayout& layout, std::int64_t rows, std::int64_t columns, std::int64_t count,
                         ElementType type) {
  return plan::footprint(layout, rows, columns, layout.pointer_array ? 1 : count, type);
}

plan::Footprint print_of_vector(std::int64_t length, ElementType type) {
  return plan::footprint({.row_stride = length}, 1, length, 1, type);
}

}  // namespace

PlanState::PlanState(const GemmDescription& d, const GemmOptions& given, const GemmOptions& options)
    : description_(d),
      problem_{.description = plan::settled(d),
               .accuracy = options.accuracy,
               .threads = core::thread_count(options.threads),
               .memory = options.memory,
               .device = options.device,
               .planning = options.planning,
               .parameters = options.parameters,
               .reproducible = options.reproducible},
      options_(given),
      asked_(options),
      a_print_(print_of(d.a, d.m, d.k, d.batch_count, d.types.input)),
      b_print_(print_of(d.b, d.k, d.n, d.batch_count, d.types.input_b)),
      c_print_(print_of(problem_.description.c, d.m, d.n, d.batch_count, d.types.output)),
      bias_print_(print_of_vector(d.bias == Bias::per_row ? d.m : d.n, d.types.output)),
      row_scales_print_(print_of_vector(d.m, accumulator_type(d.types))),
      column_scales_print_(print_of_vector(d.n, accumulator_type(d.types))),
      pointer_arrays_(d.a.pointer_array || d.b.pointer_array || problem_.description.c.pointer_array),
      needs_scalar_check_(!is_complex(d.types.input)),
      is_empty_(d.m == 0 || d.n == 0 || d.batch_count == 0) {}

Result<std::shared_ptr<const PlanState>> PlanState::make(const GemmDescription& description, const GemmOptions& given) {
  if (Status s = plan::validate(description, given); !s.ok()) return s;
  const GemmOptions options = api::with_defaults(given);
  std::shared_ptr<PlanState> state(new PlanState(description, given, options));
  // Names are judged for empty products too: a misspelt kernel is a mistake whatever the sizes.
  auto kernel = plan::select(api::backends(), state->problem_, options);
  if (!kernel.ok()) return kernel.status();
  if (!state->is_empty_ && options.memory == Memory::device) {
    const plan::BackendEntry& backend = backend_of(*kernel.value());
    state->has_addresses_ = backend.has_addresses;
    plan::Problem scaling = state->problem_;
    scaling.description = plan::without_scales(scaling.description);
    state->scaling_ = backend.prepare_scaling(scaling);
    if (description.d && !backend.has_addresses)
      return Status(StatusCode::unsupported,
                    "d: expected none with operands in buffers; copy C to D there and give D as c");
    if (description.d) {
      scaling.description = description;
      state->bringing_ = backend.prepare_scaling(scaling);
    }
  }
  if (!state->is_empty_ && kernel.value()->certifies && options.accuracy > Accuracy::standard) {
    plan::Problem scaling = state->problem_;
    scaling.description.k = 0;
    state->scaling_ = scaler_of(*kernel.value(), scaling).prepare(scaling);
  }
  if (!state->is_empty_ && description.k != 0) {
    const plan::Choice choice = plan::settle(api::backends(), state->problem_, options, kernel.value());
    plan::Problem chosen = state->problem_;
    chosen.parameters = choice.parameters;
    state->kernel_ = choice.kernel;
    state->why_ = choice.why;
    state->executable_ = state->kernel_->prepare(chosen);
  }
  if (Status s = state->consider_devices(); !s.ok()) return s;
  if (description.d || state->there_ != nullptr) return std::shared_ptr<const PlanState>(std::move(state));
  if (const auto* quick = dynamic_cast<const plan::QuickProduct*>(state->executable_.get()))
    state->quick_call_ = quick->quick_call();
  return std::shared_ptr<const PlanState>(std::move(state));
}

/// Where the caller leaves open what computes.
Status PlanState::consider_devices() {
  const bool is_open = asked_.backend == Backend::automatic && asked_.kernel.empty() && asked_.parameters.empty() &&
                       asked_.memory == Memory::host;
  if (!is_open || executable_ == nullptr) return {};
  devices_ = plan::choose_device(api::offloads(), problem_, asked_, *kernel_, api::default_device(), ledger());
  if (devices_.kernel == nullptr) return {};
  auto there = make(description_, plan::naming(asked_, devices_.offload->backend->backend, devices_.device));
  if (!there.ok()) return there.status();
  there_ = std::move(there).value();
  return {};
}

bool PlanState::may_begin_first_use() const {
  return devices_.awaited.offload != nullptr && ledger().may_begin(devices_.awaited);
}

Status PlanState::check_pointers(const GemmArguments& arguments) const {
  if (arguments.c == nullptr) return invalid(fmt::format("{} = null: expected a pointer to the output", output_name()));
  if (problem_.description.bias != Bias::none && arguments.bias == nullptr)
    return invalid("bias = null: expected a vector, because the description has a bias");
  return {};
}

/// What a product reads and a mere scaling of C does not.
Status PlanState::check_operands(const GemmArguments& arguments) const {
  const GemmDescription& d = problem_.description;
  if (arguments.a == nullptr) return invalid("a = null: expected a pointer to the elements of A");
  if (arguments.b == nullptr) return invalid("b = null: expected a pointer to the elements of B");
  const auto check = [&](const char* name, bool is_described, const void* scales, std::int64_t length) -> Status {
    if (!is_described || scales != nullptr) return {};
    return invalid(fmt::format("{} = null: expected {} elements of {}, because the description has {}", name, length,
                               to_string(accumulator_type(d.types)), name));
  };
  if (Status s = check("row_scales", d.row_scales, arguments.row_scales, d.m); !s.ok()) return s;
  return check("column_scales", d.column_scales, arguments.column_scales, d.n);
}

Status PlanState::check_overlap(const GemmArguments& arguments) const {
  if (pointer_arrays_) return check_pointer_array_overlap(arguments);
  if (plan::may_share(arguments.c, c_print_, arguments.a, a_print_)) return overlap(output_name(), "a");
  if (plan::may_share(arguments.c, c_print_, arguments.b, b_print_)) return overlap(output_name(), "b");
  return check_vectors_overlap(arguments, arguments.c, c_print_);
}

Status PlanState::check_vectors_overlap(const GemmArguments& arguments, const void* c,
                                        const plan::Footprint& c_print) const {
  const GemmDescription& d = problem_.description;
  if (d.bias != Bias::none && plan::may_share(c, c_print, arguments.bias, bias_print_))
    return overlap(output_name(), "bias");
  if (d.row_scales && plan::may_share(c, c_print, arguments.row_scales, row_scales_print_))
    return overlap(output_name(), "row_scales");
  if (d.column_scales && plan::may_share(c, c_print, arguments.column_scales, column_scales_print_))
    return overlap(output_name(), "column_scales");
  return {};
}

/// Each product's C against its own A and B; different products are the caller's promise.
Status PlanState::check_pointer_array_overlap(const GemmArguments& arguments) const {
  const GemmDescription& d = problem_.description;
  const plan::Footprint a_print = plan::footprint(d.a, d.m, d.k, 1, d.types.input);
  const plan::Footprint b_print = plan::footprint(d.b, d.k, d.n, 1, d.types.input_b);
  const plan::Footprint c_print = plan::footprint(d.c, d.m, d.n, 1, d.types.output);
  const auto in = size_in_bytes(d.types.input);
  const auto out = size_in_bytes(d.types.output);
  for (std::int64_t p = 0; p < d.batch_count; ++p) {
    const void* a = reference::product_base(arguments.a, d.a, p, in);
    const void* b = reference::product_base(arguments.b, d.b, p, in);
    const void* c = reference::product_base(static_cast<const void*>(arguments.c), d.c, p, out);
    if (a == nullptr || b == nullptr || c == nullptr)
      return invalid(fmt::format("pointer array of {}: entry {} is null",
                                 a == nullptr   ? "a"
                                 : b == nullptr ? "b"
                                                : output_name(),
                                 p));
    if (plan::may_share(c, c_print, a, a_print)) return overlap(output_name(), fmt::format("a (product {})", p));
    if (plan::may_share(c, c_print, b, b_print)) return overlap(output_name(), fmt::format("b (product {})", p));
    if (Status s = check_vectors_overlap(arguments, c, c_print); !s.ok()) return s;
  }
  return {};
}

/// For calls that write C without looking at A and B.
Status PlanState::check_c_entries(const GemmArguments& arguments) const {
  const GemmDescription& d = problem_.description;
  if (!d.c.pointer_array) return {};
  for (std::int64_t p = 0; p < d.batch_count; ++p)
    if (static_cast<const void* const*>(arguments.c)[p] == nullptr)
      return invalid(fmt::format("pointer array of {}: entry {} is null", output_name(), p));
  return {};
}

/// A C that is read beside D: D itself, or apart from it.
Status PlanState::check_c_beside_d(const GemmArguments& arguments) const {
  const GemmDescription& d = description_;
  if (arguments.c == nullptr) return invalid("c = null: expected a pointer to the elements that beta multiplies");
  const plan::Footprint c_print = plan::footprint(d.c, d.m, d.n, 1, d.types.output);
  const plan::Footprint d_print = plan::footprint(*d.d, d.m, d.n, 1, d.types.output);
  const auto shared = [](std::string_view where) {
    return invalid(
        fmt::format("d shares memory with c{}: expected c itself, with the same strides, or a d apart from it", where));
  };
  if (!d.c.pointer_array && !d.d->pointer_array) {
    const bool is_one = arguments.c == arguments.d && d.c == *d.d;
    const plan::Footprint all = print_of(d.c, d.m, d.n, d.batch_count, d.types.output);
    return !is_one && plan::may_share(arguments.d, c_print_, arguments.c, all) ? shared("") : Status();
  }
  if (problem_.memory == Memory::device) return {};  // what such arrays hold cannot be read here
  const auto size = size_in_bytes(d.types.output);
  for (std::int64_t p = 0; p < d.batch_count; ++p) {
    const void* from = reference::product_base(static_cast<const void*>(arguments.c), d.c, p, size);
    const void* to = reference::product_base(static_cast<const void*>(arguments.d), *d.d, p, size);
    if (from == nullptr) return invalid(fmt::format("pointer array of c: entry {} is null", p));
    const bool is_one = from == to && d.c.row_stride == d.d->row_stride && d.c.column_stride == d.d->column_stride;
    if (!is_one && plan::may_share(to, d_print, from, c_print)) return shared(fmt::format(" (product {})", p));
  }
  return {};
}

/// The product in place, after the elements of C have been brought to D.
Status PlanState::run_to_d(const GemmArguments& given, const plan::PreparedForms& forms,
                           const Execution& execution) const {
  GemmArguments arguments = given;
  arguments.c = given.d;
  if (Status s = check(arguments); !s.ok()) return s;
  if (!given.beta.is_zero()) {
    if (Status s = check_c_beside_d(given); !s.ok()) return s;
    if (bringing_ == nullptr)
      reference::copy_c_to_d(description_, given.c, given.d);
    else if (Status s = bringing_->run(given, execution); !s.ok())
      return s;
  }
  return run_checked(arguments, forms, execution);
}

/// Whether the device that was chosen is to do it: where it is worth it for pinned memory alone, all of it must be.
bool PlanState::goes_there(const GemmArguments& arguments) const {
  if (!ledger().why_left_alone(*devices_.offload).empty()) return false;
  if (!devices_.only_if_pinned) return true;
  const auto is_pinned = [&](const void* first, const plan::Footprint& print) {
    return first != nullptr && devices_.offload->is_pinned(static_cast<const char*>(first) + print.hull.low,
                                                           print.hull.high - print.hull.low, devices_.device);
  };
  return !pointer_arrays_ && is_pinned(arguments.a, a_print_) && is_pinned(arguments.b, b_print_) &&
         is_pinned(description_.d ? arguments.d : arguments.c, c_print_);
}

/// What the device answers; nothing where it cannot do the product, and the processor has to.
std::optional<Status> PlanState::run_there(const GemmArguments& arguments) const {
  Status status = there_->run(arguments, {});
  switch (status.code()) {
    case StatusCode::out_of_memory:  // these are found out before C is touched
    case StatusCode::unsupported:
    case StatusCode::device_unavailable: break;
    case StatusCode::device_failure:  // C may be half written
      if (arguments.beta.is_zero()) break;
      [[fallthrough]];
    default: return status;
  }
  ledger().failed(*devices_.offload, status);
  return std::nullopt;
}

Status PlanState::run(const GemmArguments& arguments, const Execution& execution) const {
  if (there_ != nullptr && arguments.prepared_a == nullptr && arguments.prepared_b == nullptr && goes_there(arguments))
    if (auto status = run_there(arguments)) return *status;
  if (arguments.prepared_a != nullptr || arguments.prepared_b != nullptr) return run_prepared(arguments, execution);
  return run(arguments, {}, execution);
}

Status PlanState::run(const GemmArguments& arguments, const plan::PreparedForms& forms,
                      const Execution& execution) const {
  if (is_empty_) return {};
  if (description_.d) return run_to_d(arguments, forms, execution);
  if (Status s = check(arguments); !s.ok()) return s;
  return run_checked(arguments, forms, execution);
}

Status PlanState::check(const GemmArguments& arguments) const {
  if (arguments.c == nullptr || problem_.description.bias != Bias::none)
    if (Status s = check_pointers(arguments); !s.ok()) return s;
  if (needs_scalar_check_)
    if (Status s = plan::check_factors(problem_.description.types.input, arguments.alpha, arguments.beta); !s.ok())
      return s;
  if (only_scales(arguments)) return problem_.memory == Memory::host ? check_c_entries(arguments) : Status();
  if (Status s = check_operands(arguments); !s.ok()) return s;
  // Addresses inside a device's pointer array cannot be read here: there the promise is the caller's.
  const bool out_of_sight = !has_addresses_ || (pointer_arrays_ && problem_.memory == Memory::device);
  return out_of_sight ? Status() : check_overlap(arguments);
}

Status PlanState::run_checked(const GemmArguments& arguments, const plan::PreparedForms& forms,
                              const Execution& execution) const {
  if (only_scales(arguments)) {
    if (scaling_ != nullptr) return scaling_->run(arguments, execution);
    reference::scale(problem_.description, arguments);
    return {};
  }
  if (forms.a != nullptr || forms.b != nullptr) return executable_->run_prepared(arguments, forms, execution);
  return executable_->run(arguments, execution);
}

/// The choice of devices, with what has become of the chosen one since.
plan::DeviceChoice PlanState::devices_now() const {
  plan::DeviceChoice now = devices_;
  if (now.offload == nullptr) return now;
  const auto verdict = std::ranges::find(now.verdicts, now.offload->backend, &plan::DeviceVerdict::backend);
  if (const std::string why = ledger().why_left_alone(*now.offload); !why.empty()) {
    verdict->reason = why;
    verdict->kernel = now.kernel = nullptr;
  } else if (const std::string failure = ledger().last_failure(*now.offload); !failure.empty()) {
    verdict->reason += "; a product went back to the processor: " + failure;
  }
  return now;
}

std::string PlanState::reach_of_bits() const {
  if (kernel_ == nullptr) return {};
  const plan::BackendEntry& backend = backend_of(*kernel_);
  return backend.reach_of_bits == nullptr ? std::string() : backend.reach_of_bits(problem_);
}

PlanSummary PlanState::summary() const {
  const GemmDescription& d = problem_.description;
  const plan::Traffic traffic = plan::least_traffic(d);
  PlanSummary summary{.accumulator = std::string(to_string(accumulator_type(d.types))),
                      .operations = operation_count(d.types, d.m, d.n, d.k) * static_cast<double>(d.batch_count),
                      .minimum_bytes = traffic.in + traffic.out};
  if (kernel_ == nullptr) return summary;
  const plan::DeviceChoice devices = devices_now();
  if (devices.kernel != nullptr && !devices.only_if_pinned) {
    summary = there_->summary();
    summary.candidates = plan::explain_candidates(api::backends(), problem_, asked_, *kernel_, devices);
    return summary;
  }
  summary.kernel = kernel_->name;
  if (kernel_->certifies) summary.accumulator = to_string(ElementType::f64);
  summary.backend = kernel_->backend;
  summary.blocking = executable_->blocking();
  summary.threads = executable_->threads();
  summary.workspace_bytes = executable_->workspace_bytes();
  summary.model_bytes = executable_->model_bytes();
  summary.paths = executable_->paths();
  summary.candidates = plan::explain_candidates(api::backends(), problem_, asked_, *kernel_, devices);
  if (!why_.empty()) std::ranges::find(summary.candidates, true, &Candidate::chosen)->reason = why_;
  return summary;
}

}  // namespace exactile::detail
