// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/chosen.hpp"

#include <fmt/format.h>

#include <optional>

#include "tuning/table/table.hpp"

namespace exactile::opencl {
namespace {

/// A row of the device itself, of its vendor, of any CPU with such vectors, of any of its kind.
std::vector<std::string> device_names(const Device& device) {
  std::vector<std::string> names{device.name, "vendor:" + device.vendor};
  if (device.is_cpu) names.push_back(fmt::format("any:cpu{}", device.vector_width_f32));
  names.emplace_back(device.is_cpu ? "any:cpu" : "any:gpu");
  return names;
}

/// Narrow types are summed as their accumulator is, and want its tiles where nobody measured theirs.
std::vector<std::string> type_names(GemmTypes types) {
  const ElementType sum = accumulator_type(types.input);
  return {to_string(types), to_string(GemmTypes{sum, sum})};
}

std::optional<tuning::Found> look_up(std::string_view kernel, const Tunable& tunable, const plan::Problem& problem,
                                     const Device& device) {
  const GemmDescription& d = problem.description;
  return tuning::find({.kernel = std::string(kernel),
                       .version = tunable.version,
                       .types = type_names(d.types),
                       .shape_class = std::string(tuning::shape_class(d.m, d.n)),
                       .devices = device_names(device),
                       .driver = device.driver},
                      [&](const tuning::Parameters& p) { return tunable.why_illegal(p, device, d.types).empty(); });
}

}  // namespace

Choice choose(std::string_view kernel, const Tunable& tunable, const plan::Problem& problem, const Device& device) {
  if (!problem.parameters.empty())
    return {tuning::Parameters::parse(problem.parameters).value_or(tuning::Parameters()), "as asked for"};
  const std::optional<tuning::Found> found = look_up(kernel, tunable, problem, device);
  return found ? Choice{found->parameters, found->source} : Choice{};
}

std::string_view why_no_choice(std::string_view kernel, const Tunable& tunable, const plan::Problem& problem,
                               const Device& device) {
  if (!problem.parameters.empty())
    return tunable.why_illegal(choose(kernel, tunable, problem, device).parameters, device, problem.description.types);
  if (look_up(kernel, tunable, problem, device)) return {};
  return "no measured sizes fit this device";
}

}  // namespace exactile::opencl
