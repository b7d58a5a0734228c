// SPDX-License-Identifier: Apache-2.0
// From the public calls to the planner's data. Types are already data here: see element_type_v in types.hpp.
#include "exactile/gemm.hpp"

#include <fmt/format.h>

#include <new>

#include "api/plan_state.hpp"
#include "plan/select.hpp"

namespace exactile {

namespace {

/// What the library allocates for itself is small; without even that a call can only say so.
Status no_host_memory() { return {StatusCode::out_of_memory, "host memory is exhausted"}; }

}  // namespace

Result<Plan> Plan::make(const GemmDescription& description, const GemmOptions& options) {
  try {
    auto state = detail::PlanState::make(description, options);
    if (!state.ok()) return state.status();
    return Plan(std::move(state).value());
  } catch (const std::bad_alloc&) {
    return no_host_memory();
  }
}

Result<PreparedOperand> Plan::prepare(Operand operand, const void* elements, const Execution& execution) const {
  try {
    return state_->prepare(operand, elements, execution);
  } catch (const std::bad_alloc&) {
    return no_host_memory();
  }
}

const GemmDescription& Plan::description() const noexcept { return state_->problem().description; }

PlanSummary Plan::summary() const { return state_->summary(); }

std::string Plan::explain() const {
  return plan::to_text(description(), state_->summary(), state_->problem().accuracy);
}

Status gemm(const GemmDescription& description, const GemmArguments& arguments, const GemmOptions& options) {
  auto plan = Plan::make(description, options);
  if (!plan.ok()) return plan.status();
  return plan.value().run(arguments);
}

namespace detail {

bool run_quickly(const PlanState& state, const void* a, const void* b, void* c, double alpha, double beta) {
  return state.run_quickly(a, b, c, alpha, beta);
}

Status run(const PlanState& state, const GemmArguments& arguments, const Execution& execution) {
  try {
    return state.run(arguments, execution);
  } catch (const std::bad_alloc&) {
    return no_host_memory();
  }
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

}  // namespace detail
}  // namespace exactile
