// SPDX-License-Identifier: Apache-2.0
// From the public calls to the planner's data. Types are already data here: see element_type_v in types.hpp.
#include "exactile/gemm.hpp"

#include <fmt/format.h>

#include "api/guarded.hpp"
#include "api/plan_cache.hpp"
#include "api/plan_state.hpp"
#include "exactile/detail/remembered.hpp"
#include "plan/select.hpp"

namespace exactile {

namespace {

Status plan_and_run(const GemmDescription& description, const GemmArguments& arguments, const GemmOptions& options,
                    const Execution& execution) {
  return api::guarded([&]() -> Status {
    auto state = detail::PlanState::make(description, options);
    if (!state) return state.error();
    detail::remember_plan(*state);
    return (*state)->run(arguments, execution);
  });
}

}  // namespace

Result<Plan> Plan::make(const GemmDescription& description, const GemmOptions& options) {
  return api::guarded([&]() -> Result<Plan> {
    auto state = detail::PlanState::make(description, options);
    if (!state.ok()) return state.status();
    return Plan(std::move(state).value());
  });
}

Result<PreparedOperand> Plan::prepare(Operand operand, const void* elements, const Execution& execution) const {
  return api::guarded([&] { return state_->prepare(operand, elements, execution); });
}

const GemmDescription& Plan::description() const noexcept { return state_->description(); }

AprioriBound Plan::error_bound() const noexcept {
  const GemmDescription& d = description();
  return apriori_bound(state_->problem().accuracy, d.types, d.k, (d.row_scales ? 1 : 0) + (d.column_scales ? 1 : 0));
}

std::string_view Plan::kernel() const noexcept { return state_->kernel_name(); }

std::int64_t Plan::workspace_bytes() const noexcept { return state_->workspace_bytes(); }

PlanSummary Plan::summary() const { return state_->summary(); }

std::string Plan::explain() const {
  return plan::to_text(description(), state_->summary(), state_->options(), error_bound(), state_->reach_of_bits());
}

Status gemm(const GemmDescription& description, const GemmArguments& arguments, const GemmOptions& options,
            const Execution& execution) {
  const detail::PlanState* state = detail::remembered_plan(description, options);
  if (state == nullptr) return plan_and_run(description, arguments, options, execution);
  if (detail::is_plain(arguments) && state->run_quickly(arguments.a, arguments.b, arguments.c,
                                                        arguments.alpha.as<double>(), arguments.beta.as<double>()))
    return {};
  return detail::run(*state, arguments, execution);
}

namespace detail {

std::string_view kernel_of(const PlanState& plan) noexcept { return plan.kernel_name(); }

bool run_quickly(const PlanState& state, const void* a, const void* b, void* c, double alpha, double beta) {
  return state.run_quickly(a, b, c, alpha, beta);
}

Status run(const PlanState& state, const GemmArguments& arguments, const Execution& execution) {
  return api::guarded([&] { return state.run(arguments, execution); });
}

Status check_shapes(std::int64_t a_rows, std::int64_t a_columns, std::int64_t b_rows, std::int64_t b_columns,
                    std::int64_t c_rows, std::int64_t c_columns) {
  if (a_rows < 0 || a_columns < 0 || b_columns < 0)
    return {StatusCode::invalid_argument, fmt::format("a is {} x {} and b is {} x {}: expected sizes of 0 or more",
                                                      a_rows, a_columns, b_rows, b_columns)};
  if (a_columns != b_rows)
    return {StatusCode::invalid_argument, fmt::format("a is {} x {} and b is {} x {}: expected a's columns = b's rows",
                                                      a_rows, a_columns, b_rows, b_columns)};
  if (c_rows != a_rows || c_columns != b_columns)
    return {StatusCode::invalid_argument, fmt::format("c is {} x {}: expected a's rows x b's columns = {} x {}", c_rows,
                                                      c_columns, a_rows, b_columns)};
  return {};
}

Status check_batch_counts(std::int64_t a, std::int64_t b, std::int64_t c) {
  if (a == c && b == c) return {};
  return {
      StatusCode::invalid_argument,
      fmt::format("batch counts of a, b, c are {}, {}, {}: expected three equal counts (stride 0 repeats one matrix)",
                  a, b, c)};
}

Status check_same_shape(std::int64_t c_rows, std::int64_t c_columns, std::int64_t c_count, std::int64_t d_rows,
                        std::int64_t d_columns, std::int64_t d_count) {
  if (c_rows != d_rows || c_columns != d_columns)
    return {StatusCode::invalid_argument,
            fmt::format("c is {} x {} and d is {} x {}: expected one shape", c_rows, c_columns, d_rows, d_columns)};
  if (c_count == d_count) return {};
  return {
      StatusCode::invalid_argument,
      fmt::format("batch counts of c, d are {}, {}: expected two equal counts, or one matrix for c", c_count, d_count)};
}

Status two_biases() {
  return {StatusCode::invalid_argument, "row_bias and column_bias are both given: expected one of them, or none"};
}

}  // namespace detail
}  // namespace exactile
