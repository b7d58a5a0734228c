// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "cpu/caches.hpp"
#include "cpu/model/cost.hpp"
#include "cpu/model/rows.hpp"
#include "cpu/model/team.hpp"
#include "tuning/table/table.hpp"

namespace exactile::cpu {
namespace {

constexpr int version = 3;  ///< rises whenever the same rates mean another time

constexpr std::array<std::string_view, work_count> names{"near",  "far",       "slow", "idle", "call",   "way",  "tile",
                                                         "block", "displaced", "page", "read", "reread", "start"};
constexpr std::string_view overlap_name = "overlap";
constexpr double unit = 1e-15;  // of a rate in a row
constexpr double unit_of_share = 1e-3;

}  // namespace

std::string device_of_rates() { return fmt::format("{} {}", processor_identity(), to_string(processor_isa())); }

double seconds(const Demand& demand, const Rates& rates) {
  const auto of = [&](Work work) { return demand[work] * rates.seconds[static_cast<std::size_t>(work)]; };
  double computing = 0;
  for (int w = 0; w < static_cast<int>(Work::read_bytes); ++w) computing += of(static_cast<Work>(w));
  const double moving = of(Work::read_bytes) + of(Work::reread_bytes);
  const double both = std::max(computing, moving) + rates.overlap * std::min(computing, moving);
  const double of_teams = demand.teams == 0 ? 0
                                            : demand.teams * team_times().start(demand.threads) +
                                                  demand.meetings * team_times().meeting(demand.threads);
  return of(Work::starts) + both / demand.threads + of_teams;
}

tuning::Row row_of(const RatesKey& key, const Rates& rates) {
  tuning::Row row{.key = {.kernel = std::string(key.family),
                          .version = version,
                          .types = fmt::format("{} {}", to_string(key.isa), to_string(key.input)),
                          .shape_class = "any",
                          .device = device_of_rates(),
                          .driver = "any"},
                  .parameters = {},
                  .rate = 1};
  const auto set = [&](std::string_view name, double value) { row.parameters.set(name, std::llround(value)); };
  for (std::size_t w = 0; w < names.size(); ++w) set(names[w], rates.seconds[w] / unit);
  set(overlap_name, rates.overlap / unit_of_share);
  return row;
}

Rates rates_of(const RatesKey& key) {
  tuning::Query query{.kernel = std::string(key.family),
                      .version = version,
                      .types = {fmt::format("{} {}", to_string(key.isa), to_string(key.input)), "any"},
                      .shape_class = "any",
                      .devices = {device_of_rates(), "any:cpu"},
                      .driver = "any"};
  const auto found = tuning::find(query, [](const tuning::Parameters& p) {
    return std::ranges::all_of(p.values(), [](const auto& value) { return value.second >= 0; });
  });
  Rates rates;
  if (!found) return rates;
  for (std::size_t w = 0; w < names.size(); ++w)
    rates.seconds[w] = unit * static_cast<double>(found->parameters.get(names[w]));
  rates.overlap = unit_of_share * static_cast<double>(found->parameters.get(overlap_name));
  return rates;
}

Estimate& latest_estimate() {
  constinit thread_local Estimate latest{};
  return latest;
}

}  // namespace exactile::cpu
