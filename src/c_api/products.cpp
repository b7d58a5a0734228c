// SPDX-License-Identifier: Apache-2.0
// Products, plans and prepared operands.
#include <fmt/format.h>

#include "c_api/convert.hpp"
#include "c_api/failure.hpp"
#include "c_api/handles.hpp"

namespace exactile::c_api {
namespace {

Result<GemmArguments> take_arguments(const exactile_gemm_arguments* pointer, GemmTypes types) {
  const auto from = known_part("arguments", pointer);
  if (!from.ok()) return from.status();
  auto to = arguments(from.value(), types);
  if (!to.ok()) return to;
  if (from.value().prepared_a != nullptr) to.value().prepared_a = &from.value().prepared_a->operand;
  if (from.value().prepared_b != nullptr) to.value().prepared_b = &from.value().prepared_b->operand;
  return to;
}

Status multiply(const exactile_gemm_description* description, const exactile_gemm_arguments* arguments,
                const exactile_gemm_options* options) {
  const auto what = c_api::description(description);
  if (!what.ok()) return what.status();
  const auto how = c_api::options(options);
  if (!how.ok()) return how.status();
  const auto data = take_arguments(arguments, what.value().types);
  if (!data.ok()) return data.status();
  return gemm(what.value(), data.value(), how.value());
}

Status make_plan(const exactile_gemm_description* description, const exactile_gemm_options* options,
                 exactile_plan** plan) {
  if (plan == nullptr) return null("plan", "the address of a pointer that becomes the plan");
  *plan = nullptr;
  const auto what = c_api::description(description);
  if (!what.ok()) return what.status();
  const auto how = c_api::options(options);
  if (!how.ok()) return how.status();
  auto made = Plan::make(what.value(), how.value());
  if (!made.ok()) return made.status();
  *plan = new exactile_plan{std::move(made).value(), how.value().accuracy};
  return {};
}

Status run_plan(const exactile_plan* plan, const exactile_gemm_arguments* arguments,
                const exactile_execution* execution) {
  if (plan == nullptr) return null("plan", "what exactile_plan_make() made");
  const auto data = take_arguments(arguments, plan->plan.description().types);
  if (!data.ok()) return data.status();
  const auto where = c_api::execution(execution);
  if (!where.ok()) return where.status();
  return plan->plan.run(data.value(), where.value());
}

Status error_bound(const exactile_plan* plan, double* of_result, double* of_terms) {
  if (plan == nullptr) return null("plan", "what exactile_plan_make() made");
  if (of_result == nullptr) return null("of_result", "the address of a double");
  if (of_terms == nullptr) return null("of_terms", "the address of a double");
  const AprioriBound bound = plan->plan.error_bound();
  *of_result = bound.of_result;
  *of_terms = bound.of_terms;
  return {};
}

Status prepare(const exactile_plan* plan, exactile_operand operand, const void* elements,
               const exactile_execution* execution, exactile_prepared** prepared) {
  if (prepared == nullptr) return null("prepared", "the address of a pointer that becomes the prepared operand");
  *prepared = nullptr;
  if (plan == nullptr) return null("plan", "what exactile_plan_make() made");
  if (operand != EXACTILE_A && operand != EXACTILE_B)
    return {StatusCode::invalid_argument,
            fmt::format("operand = {}: expected EXACTILE_A or EXACTILE_B", static_cast<int>(operand))};
  const auto where = c_api::execution(execution);
  if (!where.ok()) return where.status();
  auto made = plan->plan.prepare(operand == EXACTILE_A ? Operand::a : Operand::b, elements, where.value());
  if (!made.ok()) return made.status();
  *prepared = new exactile_prepared{std::move(made).value()};
  return {};
}

}  // namespace
}  // namespace exactile::c_api

using exactile::c_api::guarded;

extern "C" {

int64_t exactile_type_size(int32_t type) {
  const auto element = exactile::c_api::element_type(type);
  return element ? exactile::size_in_bytes(*element) : 0;
}

exactile_status exactile_gemm(const exactile_gemm_description* description, const exactile_gemm_arguments* arguments,
                              const exactile_gemm_options* options) {
  return guarded([&] { return exactile::c_api::multiply(description, arguments, options); });
}

exactile_status exactile_plan_make(const exactile_gemm_description* description, const exactile_gemm_options* options,
                                   exactile_plan** plan) {
  return guarded([&] { return exactile::c_api::make_plan(description, options, plan); });
}

void exactile_plan_destroy(exactile_plan* plan) { delete plan; }

exactile_status exactile_plan_run(const exactile_plan* plan, const exactile_gemm_arguments* arguments,
                                  const exactile_execution* execution) {
  return guarded([&] { return exactile::c_api::run_plan(plan, arguments, execution); });
}

exactile_status exactile_plan_error_bound(const exactile_plan* plan, double* of_result, double* of_terms) {
  return guarded([&] { return exactile::c_api::error_bound(plan, of_result, of_terms); });
}

exactile_status exactile_plan_prepare(const exactile_plan* plan, exactile_operand operand, const void* elements,
                                      const exactile_execution* execution, exactile_prepared** prepared) {
  return guarded([&] { return exactile::c_api::prepare(plan, operand, elements, execution, prepared); });
}

int64_t exactile_prepared_bytes(const exactile_prepared* prepared) {
  return prepared == nullptr ? 0 : prepared->operand.bytes();
}

void exactile_prepared_destroy(exactile_prepared* prepared) { delete prepared; }

}  // extern "C"
