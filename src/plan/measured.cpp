// SPDX-License-Identifier: Apache-2.0
#include "plan/measured.hpp"

#include <algorithm>

#include "plan/scales.hpp"
#include "tuning/table/table.hpp"

namespace exactile::plan {
namespace {

/// As `exactile tune` lays them out, but for rows that may be further apart.
bool has_measured_layout(const OperandLayout& layout, std::int64_t columns) {
  return layout.column_stride == 1 && layout.row_stride >= columns && !layout.pointer_array;
}

bool is_like_what_is_measured(const Problem& problem) {
  constexpr std::int64_t least_depth = 256;
  constexpr double least_terms = 1 << 24;
  const GemmDescription& d = problem.description;
  return problem.memory == Memory::device && problem.accuracy == Accuracy::standard && d.batch_count == 1 &&
         d.bias == Bias::none && d.activation == Activation::none && !has_scales(d) && has_measured_layout(d.a, d.k) &&
         has_measured_layout(d.b, d.n) && has_measured_layout(d.c, d.n) && d.k >= least_depth &&
         static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) >= least_terms;
}

/// A class reaches further than one measurement speaks for: what wins at 64 rows need not win at 8.
bool is_near(const tuning::Shape& measured, const GemmDescription& d) {
  const std::int64_t side = std::min(d.m, d.n);
  const std::int64_t measured_side = std::min(measured.m, measured.n);
  return side >= measured_side / 2 && side <= 2 * measured_side;
}

}  // namespace

std::optional<double> measured_rate(const KernelEntry& entry, const Problem& problem) {
  if (entry.tunable == nullptr || !is_like_what_is_measured(problem)) return std::nullopt;
  const GemmDescription& d = problem.description;
  const std::string_view shape_class = tuning::shape_class(d.m, d.n);
  // First, because a device's key may cost as much as a plan.
  if (!tuning::has_user_rows(entry.name, to_string(d.types), shape_class)) return std::nullopt;
  const TuningTarget target = entry.tunable(d.types, problem.device);
  if (!is_near(tuning::typical_shape(shape_class, target.is_cpu), d)) return std::nullopt;
  return tuning::measured_rate({.kernel = std::string(entry.name),
                                .version = target.version,
                                .types = {to_string(d.types)},
                                .shape_class = std::string(shape_class),
                                .devices = {target.device},
                                .driver = target.driver});
}

}  // namespace exactile::plan
