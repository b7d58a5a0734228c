// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/tuned_blocking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/checked.hpp"
#include "core/thread_count.hpp"
#include "cpu/caches.hpp"
#include "tuning/table/table.hpp"

namespace exactile::cpu {
namespace {

using tuning::Parameters;

constexpr int version = 4;  ///< rises whenever measured blocks mean nothing any more

/// Threads share L3 and the way to memory, so their number is part of what was measured.
std::string driver_of(int threads) { return fmt::format("{} threads", threads); }

bool is_name(std::string_view name) { return name == "MC" || name == "KC" || name == "NC"; }

/// Also keeps what is computed from the values far from overflow.
bool is_size(std::int64_t value) { return value >= 1 && value <= 1 << 20; }

/// Looking takes a microsecond or two, which small products would feel.
bool is_worth_a_look(const GemmDescription& d) {
  constexpr double least_terms = 1 << 24;
  return static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) >= least_terms;
}

Blocking with(const Parameters& p, const GemmDescription& d, const BlockingModel& model) {
  const auto rounded = [&](const char* name, std::int64_t otherwise, std::int64_t step) {
    return core::round_up(p.get(name, otherwise), step);
  };
  const Blocking& m = model.blocking;
  Blocking sizes = m;
  // The product may be computed transposed; no side of it is longer than this one.
  const std::int64_t side = std::max(d.m, d.n);
  sizes.mc = std::min(rounded("MC", m.mc, m.mr), core::round_up(side, m.mr));
  sizes.nc = std::min(rounded("NC", m.nc, m.nr), core::round_up(side, m.nr));
  sizes.kc = std::min(rounded("KC", m.kc, model.chunk), d.k);
  return sizes;
}

/// Judges what would be allocated: values rounded up, cut to the product, and the model's where none is given.
bool is_legal(const Parameters& p, const GemmDescription& d, const BlockingModel& model) {
  constexpr std::int64_t most_elements = 1 << 24;
  for (const auto& [name, value] : p.values())
    if (!is_name(name) || !is_size(value)) return false;
  const Blocking sizes = with(p, d, model);
  // An A that is read where it lies takes no memory, however many its rows are.
  return std::max(model.a_is_packed ? sizes.mc : 0, sizes.nc) <= most_elements / sizes.kc;
}

/// Kernels that are asked in turn are all asked about the same parameters, so their answers, which are kept until the
/// thread asks about others, stay what they were. Long names are cut.
std::string_view unknown_names(const Parameters& p) {
  std::string names;
  for (const auto& [name, value] : p.values())
    if (!is_name(name)) names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) return {};
  constinit thread_local std::array<char, 256> answer{};
  constexpr std::size_t most = 200;
  const std::string_view cut = names.size() > most ? "..." : "";
  const auto end = fmt::format_to_n(answer.data(), answer.size(), "unknown parameters: {}{}; expected MC, KC and NC",
                                    std::string_view(names).substr(0, most), cut);
  return {answer.data(), end.out};
}

std::optional<tuning::Found> measured(std::string_view kernel, const plan::Problem& problem,
                                      const BlockingModel& model) {
  const GemmDescription& d = problem.description;
  if (!is_worth_a_look(d) || !tuning::has_user_rows()) return std::nullopt;
  return tuning::find({.kernel = std::string(kernel),
                       .version = version,
                       .types = {to_string(d.types)},
                       .shape_class = std::string(tuning::shape_class(d.m, d.n)),
                       .devices = {processor_name()},
                       .driver = driver_of(problem.threads)},
                      [&](const Parameters& p) { return is_legal(p, d, model); });
}

}  // namespace

Blocking tuned_blocking(std::string_view kernel, const plan::Problem& problem, const BlockingModel& model) {
  Blocking sizes = model.blocking;
  if (const auto asked = Parameters::parse(problem.parameters); asked && !asked->empty()) {
    sizes = with(*asked, problem.description, model);
    sizes.source = "as asked for";
  } else if (const auto found = measured(kernel, problem, model)) {
    sizes = with(found->parameters, problem.description, model);
    sizes.source = found->source;
  }
  return sizes;
}

std::string_view why_illegal_blocking(const plan::Problem& problem, const BlockingModel& model) {
  const Parameters asked = Parameters::parse(problem.parameters).value_or(Parameters());
  if (const auto unknown = unknown_names(asked); !unknown.empty()) return unknown;
  return is_legal(asked, problem.description, model)
             ? ""
             : "MC, KC and NC must be positive and at most 1048576, and a packed block have at most 16777216 elements";
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
