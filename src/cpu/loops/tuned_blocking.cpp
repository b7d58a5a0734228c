// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/tuned_blocking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/checked.hpp"
#include "core/thread_count.hpp"
#include "cpu/caches.hpp"
#include "tuning/table/table.hpp"

namespace exactile::cpu {
namespace {

using tuning::Parameters;

constexpr int version = 1;  ///< rises whenever measured blocks mean nothing any more

/// Threads share L3 and the way to memory, so their number is part of what was measured.
std::string driver_of(int threads) { return fmt::format("{} threads", threads); }

bool is_legal(const Parameters& p) {
  constexpr std::int64_t largest_side = 1 << 20;
  constexpr std::int64_t most_elements = 1 << 24;
  const auto is_size = [&](const char* name) { return p.get(name, 1) >= 1 && p.get(name, 1) <= largest_side; };
  return is_size("MC") && is_size("KC") && is_size("NC") &&
         p.get("KC", 1) * std::max(p.get("MC", 1), p.get("NC", 1)) <= most_elements;
}

/// Looking takes a microsecond or two, which small products would feel.
bool is_worth_a_look(const GemmDescription& d) {
  constexpr double least_terms = 1 << 24;
  return static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) >= least_terms;
}

std::optional<tuning::Found> measured(std::string_view kernel, const plan::Problem& problem) {
  const GemmDescription& d = problem.description;
  if (!is_worth_a_look(d) || !tuning::has_user_rows()) return std::nullopt;
  return tuning::find({.kernel = std::string(kernel),
                       .version = version,
                       .types = {to_string(d.types)},
                       .shape_class = std::string(tuning::shape_class(d.m, d.n)),
                       .devices = {processor_name()},
                       .driver = driver_of(problem.threads)},
                      is_legal);
}

Blocking with(const Parameters& p, const GemmDescription& d, const Blocking& model, std::int64_t chunk) {
  const auto rounded = [&](const char* name, std::int64_t otherwise, std::int64_t step) {
    return core::round_up(p.get(name, otherwise), step);
  };
  Blocking sizes = model;
  // The product may be computed transposed; no side of it is longer than this one.
  const std::int64_t side = std::max(d.m, d.n);
  sizes.mc = std::min(rounded("MC", model.mc, model.mr), core::round_up(side, model.mr));
  sizes.nc = std::min(rounded("NC", model.nc, model.nr), core::round_up(side, model.nr));
  sizes.kc = std::min(rounded("KC", model.kc, chunk), d.k);
  return sizes;
}

}  // namespace

Blocking tuned_blocking(std::string_view kernel, const plan::Problem& problem, const Blocking& model,
                        std::int64_t chunk) {
  Blocking sizes = model;
  if (const auto asked = Parameters::parse(problem.parameters); asked && !asked->empty()) {
    sizes = with(*asked, problem.description, model, chunk);
    sizes.source = "as asked for";
  } else if (const auto found = measured(kernel, problem)) {
    sizes = with(found->parameters, problem.description, model, chunk);
    sizes.source = found->source;
  }
  return sizes;
}

std::string_view why_illegal_blocking(const plan::Problem& problem) {
  if (problem.parameters.empty()) return {};
  const auto asked = Parameters::parse(problem.parameters);
  if (!asked) return "the parameters are not of the form \"NAME=NUMBER NAME=NUMBER ...\"";
  return is_legal(*asked) ? "" : "MC, KC and NC must be positive, and a block have at most 16777216 elements";
}

TuningTarget blocking_target(int rows, int columns, std::int64_t chunk) {
  const auto times = [](std::int64_t unit, std::vector<std::int64_t> values) {
    for (std::int64_t& value : values) value *= unit;
    return values;
  };
  return {.space = {{"MC", times(rows, {5, 10, 20, 40, 80, 160})},
                    {"KC", times(chunk, {1, 2, 3, 4, 6, 8})},
                    {"NC", times(columns, {2, 4, 6, 8, 12, 16, 32, 64})}},
          .version = version,
          .device = processor_name(),
          .driver = driver_of(core::thread_count(0)),
          .is_cpu = true};
}

}  // namespace exactile::cpu
