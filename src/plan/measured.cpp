// SPDX-License-Identifier: Apache-2.0
#include "plan/measured.hpp"

#include "tuning/table/table.hpp"

namespace exactile::plan {
namespace {

bool is_like_what_is_measured(const Problem& problem) {
  constexpr std::int64_t least_depth = 256;
  constexpr double least_terms = 1 << 24;
  const GemmDescription& d = problem.description;
  return problem.memory == Memory::device && problem.accuracy == Accuracy::standard && d.batch_count == 1 &&
         d.k >= least_depth &&
         static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) >= least_terms;
}

}  // namespace

std::optional<double> measured_rate(const KernelEntry& entry, const Problem& problem) {
  if (entry.tunable == nullptr || !is_like_what_is_measured(problem) || !tuning::has_user_rows()) return std::nullopt;
  const GemmDescription& d = problem.description;
  const TuningTarget target = entry.tunable(d.types, problem.device);
  return tuning::measured_rate({.kernel = std::string(entry.name),
                                .version = target.version,
                                .types = {to_string(d.types)},
                                .shape_class = std::string(tuning::shape_class(d.m, d.n)),
                                .devices = {target.device},
                                .driver = target.driver});
}

}  // namespace exactile::plan
