// SPDX-License-Identifier: Apache-2.0
// Grouped products, described as a batch whose matrices have different numbers of rows.
#include <fmt/format.h>

#include "c_api/convert.hpp"
#include "c_api/failure.hpp"
#include "c_api/handles.hpp"

namespace exactile::c_api {
namespace {

/// What a description can say that groups have not got; empty if it says nothing of it.
std::string_view beyond_groups(const GemmDescription& d) {
  if (d.bias != Bias::none) return "bias";
  if (d.activation != Activation::none) return "activation";
  return d.d ? "d" : "";
}

Status make_grouped(const exactile_gemm_description* description, const exactile_gemm_options* options,
                    exactile_grouped_plan** plan) {
  if (plan == nullptr) return null("plan", "the address of a pointer that becomes the plan");
  *plan = nullptr;
  const auto what = c_api::description(description);
  if (!what.ok()) return what.status();
  const auto how = c_api::options(options);
  if (!how.ok()) return how.status();
  const GemmDescription& d = what.value();
  if (const auto beyond = beyond_groups(d); !beyond.empty())
    return {StatusCode::unsupported, fmt::format("{}: expected none for grouped products", beyond)};
  auto made = GroupedPlan::make({.types = d.types,
                                 .groups = d.batch_count,
                                 .total_rows = d.m,
                                 .n = d.n,
                                 .k = d.k,
                                 .a = d.a,
                                 .b = d.b,
                                 .c = d.c,
                                 .row_scales = d.row_scales,
                                 .column_scales = d.column_scales},
                                how.value());
  if (!made.ok()) return made.status();
  *plan = new exactile_grouped_plan{std::move(made).value()};
  return {};
}

Status run_grouped(const exactile_grouped_plan* plan, const exactile_gemm_arguments* arguments,
                   const std::int64_t* offsets, const exactile_execution* execution) {
  if (plan == nullptr) return null("plan", "what exactile_grouped_plan_make() made");
  const auto given = known_part("arguments", arguments);
  if (!given.ok()) return given.status();
  if (given.value().prepared_a != nullptr || given.value().prepared_b != nullptr)
    return {StatusCode::unsupported, "prepared operands: expected none for grouped products"};
  const auto data = c_api::arguments(given.value(), plan->plan.description().types);
  if (!data.ok()) return data.status();
  const auto where = c_api::execution(execution);
  if (!where.ok()) return where.status();
  const GemmArguments& x = data.value();
  return plan->plan.run({.a = x.a,
                         .b = x.b,
                         .c = x.c,
                         .offsets = offsets,
                         .alpha = x.alpha,
                         .beta = x.beta,
                         .row_scales = x.row_scales,
                         .column_scales = x.column_scales},
                        where.value());
}

}  // namespace
}  // namespace exactile::c_api

using exactile::c_api::guarded;

extern "C" {

exactile_status exactile_grouped_plan_make(const exactile_gemm_description* description,
                                           const exactile_gemm_options* options, exactile_grouped_plan** plan) {
  return guarded([&] { return exactile::c_api::make_grouped(description, options, plan); });
}

exactile_status exactile_grouped_plan_run(const exactile_grouped_plan* plan, const exactile_gemm_arguments* arguments,
                                          const int64_t* offsets, const exactile_execution* execution) {
  return guarded([&] { return exactile::c_api::run_grouped(plan, arguments, offsets, execution); });
}

void exactile_grouped_plan_destroy(exactile_grouped_plan* plan) { delete plan; }

}  // extern "C"
