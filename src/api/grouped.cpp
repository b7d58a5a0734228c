// SPDX-License-Identifier: Apache-2.0
// Grouped products: what holds for every backend, and the processor's, group by group.
#include "exactile/grouped.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/backends.hpp"
#include "api/defaults.hpp"
#include "api/guarded.hpp"
#include "api/plan_state.hpp"
#include "plan/grouped.hpp"
#include "plan/overlap.hpp"
#include "plan/validate.hpp"

namespace exactile {
namespace detail {
namespace {

plan::Footprint scales_print(const GroupedDescription& d, std::int64_t length) {
  return plan::footprint({.row_stride = length}, 1, length, 1, accumulator_type(d.types));
}

}  // namespace

class GroupedState {
 public:
  GroupedState(const GroupedDescription& d, const GemmOptions& options)
      : description_(d),
        options_(options),
        a_print_(plan::footprint(d.a, d.total_rows, d.k, 1, d.types.input)),
        b_print_(plan::footprint(d.b, d.k, d.n, d.groups, d.types.input_b)),
        c_print_(plan::footprint(d.c, d.total_rows, d.n, 1, d.types.output)),
        row_scales_print_(scales_print(d, d.total_rows)),
        column_scales_print_(scales_print(d, d.groups * d.n)) {}

  [[nodiscard]] static Result<std::shared_ptr<const GroupedState>> make(const GroupedDescription& description,
                                                                        const GemmOptions& given);
  [[nodiscard]] Status run(const GroupedArguments& arguments, const Execution& execution) const;
  [[nodiscard]] const GroupedDescription& description() const noexcept { return description_; }
  [[nodiscard]] std::string_view kernel() const noexcept {
    return on_device_ == nullptr ? options_.kernel : on_device_->kernel();
  }
  [[nodiscard]] std::string explain() const;

 private:
  [[nodiscard]] bool is_empty() const {
    return description_.groups == 0 || description_.total_rows == 0 || description_.n == 0;
  }
  [[nodiscard]] Status check(const GroupedArguments& arguments) const;
  [[nodiscard]] Status check_offsets(const std::int64_t* offsets) const;
  [[nodiscard]] Status run_on_host(const GroupedArguments& arguments) const;

  GroupedDescription description_;
  GemmOptions options_;
  plan::Footprint a_print_;
  plan::Footprint b_print_;
  plan::Footprint c_print_;
  plan::Footprint row_scales_print_;
  plan::Footprint column_scales_print_;
  std::unique_ptr<const plan::GroupedExecutable> on_device_;
};

namespace {

Status invalid(std::string message) { return {StatusCode::invalid_argument, std::move(message)}; }
Status unsupported(std::string message) { return {StatusCode::unsupported, std::move(message)}; }

/// The product of so many rows with one group's matrix.
GemmDescription product_of(const GroupedDescription& d, std::int64_t rows) {
  GemmDescription product{.types = d.types,
                          .m = rows,
                          .n = d.n,
                          .k = d.k,
                          .a = d.a,
                          .b = d.b,
                          .c = d.c,
                          .row_scales = d.row_scales,
                          .column_scales = d.column_scales};
  product.a.batch_stride = product.b.batch_stride = product.c.batch_stride = 0;
  return product;
}

Status validate(const GroupedDescription& d, const GemmOptions& options) {
  if (d.groups < 0) return invalid(fmt::format("groups = {}: expected a number of 0 or more", d.groups));
  if (d.total_rows < 0) return invalid(fmt::format("total_rows = {}: expected a number of 0 or more", d.total_rows));
  const std::pair<const char*, const OperandLayout*> layouts[] = {{"a", &d.a}, {"b", &d.b}, {"c", &d.c}};
  for (const auto& [name, layout] : layouts)
    if (layout->pointer_array)
      return unsupported(fmt::format("{}.pointer_array = true: expected false for grouped products", name));
  if (Status s = plan::validate(product_of(d, d.total_rows), options); !s.ok()) return s;
  GemmDescription matrices = product_of(d, 0);
  matrices.b.batch_stride = d.b.batch_stride;
  matrices.batch_count = d.groups;
  return plan::validate(matrices, options);
}

/// The backend that computes in device memory.
Result<const plan::BackendEntry*> device_backend(Backend asked) {
  for (const plan::BackendEntry* backend : api::backends()) {
    if (asked != Backend::automatic && asked != backend->backend) continue;
    if (backend->prepare_grouped != nullptr) return backend;
  }
  return unsupported(
      fmt::format("backend = {}: has no grouped products in device memory; expected cuda", to_string(asked)));
}

}  // namespace

Result<std::shared_ptr<const GroupedState>> GroupedState::make(const GroupedDescription& description,
                                                               const GemmOptions& given) {
  if (Status s = validate(description, given); !s.ok()) return s;
  auto state = std::make_shared<GroupedState>(description, api::with_defaults(given));
  GemmOptions& options = state->options_;
  if (options.memory == Memory::device) {
    const auto backend = device_backend(options.backend);
    if (!backend.ok()) return backend.status();
    if (state->is_empty()) return std::shared_ptr<const GroupedState>(std::move(state));
    auto prepared = backend.value()->prepare_grouped(description, options);
    if (!prepared.ok()) return prepared.status();
    state->on_device_ = std::move(prepared).value();
    return std::shared_ptr<const GroupedState>(std::move(state));
  }
  if (options.backend != Backend::automatic && options.backend != Backend::cpu)
    return unsupported(fmt::format(
        "backend = {}: grouped products of operands in host memory are the processor's; expected cpu, or device memory",
        to_string(options.backend)));
  options.backend = Backend::cpu;
  // Names are judged here, not when the first group has rows.
  const auto whole = PlanState::make(product_of(description, description.total_rows), options);
  if (!whole.ok()) return whole.status();
  return std::shared_ptr<const GroupedState>(std::move(state));
}

Status GroupedState::check(const GroupedArguments& arguments) const {
  const GroupedDescription& d = description_;
  if (arguments.c == nullptr) return invalid("c = null: expected a pointer to the output");
  if (arguments.offsets == nullptr)
    return invalid(fmt::format("offsets = null: expected {} offsets of groups", d.groups + 1));
  if (Status s = plan::check_factors(d.types.input, arguments.alpha, arguments.beta); !s.ok()) return s;
  if (d.k == 0 || arguments.alpha.is_zero()) return {};
  if (arguments.a == nullptr) return invalid("a = null: expected a pointer to the elements of A");
  if (arguments.b == nullptr) return invalid("b = null: expected a pointer to the elements of B");
  if (d.row_scales && arguments.row_scales == nullptr)
    return invalid(fmt::format("row_scales = null: expected {} factors", d.total_rows));
  if (d.column_scales && arguments.column_scales == nullptr)
    return invalid(fmt::format("column_scales = null: expected {} factors for each of {} groups", d.n, d.groups));
  const auto overlap = [](const char* with) {
    return invalid(
        fmt::format("c shares memory with {}: expected a c that overlaps neither a, b nor the scales", with));
  };
  if (plan::may_share(arguments.c, c_print_, arguments.a, a_print_)) return overlap("a");
  if (plan::may_share(arguments.c, c_print_, arguments.b, b_print_)) return overlap("b");
  if (d.row_scales && plan::may_share(arguments.c, c_print_, arguments.row_scales, row_scales_print_))
    return overlap("row_scales");
  if (d.column_scales && plan::may_share(arguments.c, c_print_, arguments.column_scales, column_scales_print_))
    return overlap("column_scales");
  return {};
}

Status GroupedState::check_offsets(const std::int64_t* offsets) const {
  std::int64_t least = 0;
  for (std::int64_t g = 0; g <= description_.groups; ++g) {
    if (offsets[g] < least || offsets[g] > description_.total_rows)
      return invalid(fmt::format("offsets[{}] = {}: expected {} to {}, because offsets ascend to total_rows at most", g,
                                 offsets[g], least, description_.total_rows));
    least = offsets[g];
  }
  return {};
}

Status GroupedState::run_on_host(const GroupedArguments& arguments) const {
  const GroupedDescription& d = description_;
  if (Status s = check_offsets(arguments.offsets); !s.ok()) return s;
  const auto at = [](auto* data, std::int64_t elements, ElementType type) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(data)>>, const char, char>;
    return data == nullptr ? data
                           : static_cast<decltype(data)>(static_cast<Byte*>(data) + elements * size_in_bytes(type));
  };
  for (std::int64_t g = 0; g < d.groups; ++g) {
    const std::int64_t first = arguments.offsets[g], rows = arguments.offsets[g + 1] - first;
    if (rows == 0) continue;
    const Status status = gemm(product_of(d, rows),
                               {.a = at(arguments.a, first * d.a.row_stride, d.types.input),
                                .b = at(arguments.b, g * d.b.batch_stride, d.types.input_b),
                                .c = at(arguments.c, first * d.c.row_stride, d.types.output),
                                .alpha = arguments.alpha,
                                .beta = arguments.beta,
                                .row_scales = at(arguments.row_scales, first, accumulator_type(d.types)),
                                .column_scales = at(arguments.column_scales, g * d.n, accumulator_type(d.types))},
                               options_);
    if (!status.ok()) return status;
  }
  return {};
}

Status GroupedState::run(const GroupedArguments& arguments, const Execution& execution) const {
  if (is_empty()) return {};
  if (Status s = check(arguments); !s.ok()) return s;
  return on_device_ == nullptr ? run_on_host(arguments) : on_device_->run(arguments, execution);
}

std::string GroupedState::explain() const {
  const GroupedDescription& d = description_;
  const std::string product = fmt::format("{} groups of rows, at most {} in all, with {} x {} matrices, {}", d.groups,
                                          d.total_rows, d.k, d.n, to_string(d.types));
  if (on_device_ != nullptr)
    return fmt::format("{}\nkernel {}: {}\n", product, on_device_->kernel(), on_device_->blocking());
  return fmt::format("{}\neach group by the kernel that gemm() takes for it on the processor\n", product);
}

}  // namespace detail

Result<GroupedPlan> GroupedPlan::make(const GroupedDescription& description, const GemmOptions& options) {
  return api::guarded([&]() -> Result<GroupedPlan> {
    auto state = detail::GroupedState::make(description, options);
    if (!state.ok()) return state.status();
    return GroupedPlan(std::move(state).value());
  });
}

Status GroupedPlan::run(const GroupedArguments& arguments, const Execution& execution) const {
  return api::guarded([&] { return state_->run(arguments, execution); });
}

const GroupedDescription& GroupedPlan::description() const noexcept { return state_->description(); }

std::string_view GroupedPlan::kernel() const noexcept { return state_->kernel(); }

std::string GroupedPlan::explain() const { return state_->explain(); }

}  // namespace exactile
