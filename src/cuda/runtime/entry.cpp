// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace exactile::cuda {

std::string_view why_unavailable(int least_capability, int most_capability, int device) {
  if (devices().empty()) return why_no_device();
  if (device < 0 || device >= static_cast<int>(devices().size())) return "there is no device of that index";
  const int capability = devices()[static_cast<std::size_t>(device)].compute_capability;
  const int least_built = least_capability_built();
  if (capability >= std::max(least_capability, least_built) && capability <= most_capability) return {};
  const int needed = capability > most_capability ? most_capability : std::max(least_capability, least_built);
  static std::mutex mutex;
  static auto& texts = *new std::map<std::pair<int, int>, std::string>;
  const std::lock_guard lock(mutex);
  std::string& text = texts[{needed, capability}];
  if (text.empty() && capability < least_built) text = why_too_old(capability, least_built);
  if (text.empty())
    text = fmt::format("needs compute capability {}.{}{}; the device has {}.{}", needed / 10, needed % 10,
                       capability < needed ? " or later" : " or earlier", capability / 10, capability % 10);
  return text;
}

namespace {

std::vector<Candidate> candidates_of(const Kernel& kernel, const plan::Problem& problem, const Device& device) {
  std::vector<Candidate> all = plan::has_scales(problem.description) && !kernel.applies_scales
                                   ? scaled_candidates(kernel, problem, device)
                                   : kernel.candidates(problem, device);
  std::erase_if(all, [&](const Candidate& c) {
    return !may_offer(problem, device.compute_capability, kernel.name, c.configuration);
  });
  return all;
}

/// Large, with few rows and a long K, with few columns, small, and with few terms: of these together a kernel shows all
/// it has.
std::vector<plan::Problem> typical_problems(GemmTypes types) {
  std::vector<plan::Problem> problems;
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{4096, 4096, 4096}, {4, 512, 65536}, {4096, 8, 32}, {64, 64, 1024}, {64, 64, 1}})
    problems.push_back({.description = {.types = types,
                                        .m = m,
                                        .n = n,
                                        .k = k,
                                        .a = {.row_stride = k, .column_stride = 1},
                                        .b = {.row_stride = n, .column_stride = 1},
                                        .c = {.row_stride = n, .column_stride = 1}},
                        .accuracy = Accuracy::reduced,
                        .memory = Memory::device});
  return problems;
}

/// A pin of the tile and the division of K. Where only some configurations slice K, that others do not is said, too.
std::string instance_of(const Configuration& c, const std::vector<ParameterRange>& space) {
  const bool slices = std::ranges::find(space, "CLUSTER_K", &ParameterRange::name) != space.end();
  const Configuration instance{.bm = c.bm, .bn = c.bn, .cluster_k = c.cluster_k, .slice_k = c.slice_k};
  return to_string(instance) + (slices && c.cluster_k == 0 ? " CLUSTER_K=0" : "") +
         (slices && c.slice_k == 0 ? " SLICE_K=0" : "");
}

void add_sizes(std::vector<ParameterRange>& space, const Configuration& configuration) {
  for (const auto& [name, value] : sizes_of(configuration)) {
    auto range = std::ranges::find(space, name, &ParameterRange::name);
    if (range == space.end()) range = space.insert(range, {.name = std::string(name), .values = {}});
    if (std::ranges::find(range->values, value) == range->values.end()) range->values.push_back(value);
  }
}

}  // namespace

std::vector<model::Ranked> ranked(const Kernel& kernel, const plan::Problem& problem, const Device& device) {
  std::vector<Candidate> candidates = candidates_of(kernel, problem, device);
  if (const auto pin = Pin::parse(problem.parameters))
    std::erase_if(candidates, [&](const Candidate& c) { return !pin->matches(c.configuration); });
  const model::DeviceModel& known = model::model_of(device);
  return known.on_stream(known.rank(kernel, problem, candidates, problem.planning != Planning::formula));
}

Configuration chosen(const Kernel& kernel, const plan::Problem& problem, const Device& device) {
  const auto ways = ranked(kernel, problem, device);
  if (!ways.empty()) return ways.front().configuration;
  plan::Problem free = problem;
  free.parameters.clear();
  return ranked(kernel, free, device).front().configuration;
}

std::string_view configurations_refuse(const Kernel& kernel, const plan::Problem& problem, const Device& device) {
  if (const auto why = order_refuses(problem, device.compute_capability, kernel.name); !why.empty()) return why;
  if (problem.parameters.empty()) return {};
  const auto pin = Pin::parse(problem.parameters);
  if (!pin) return "does not know such parameters; explain and `exactile kernels` show those it has";
  const std::vector<Candidate> candidates = candidates_of(kernel, problem, device);
  const bool has_it =
      std::ranges::any_of(candidates, [&](const Candidate& c) { return pin->matches(c.configuration); });
  return has_it ? "" : "has no configuration with those parameters for this product";
}

TuningTarget tuning_target(const Kernel& kernel, GemmTypes types, int device) {
  constexpr int kernels_version = 2;  // rises whenever measured speeds mean nothing any more
  const DeviceInfo info = device_infos()[static_cast<std::size_t>(device)];
  std::string driver;
  for (const auto& [name, value] : info.properties)
    if (name.find("CUDA") != std::string::npos)
      driver += fmt::format("{}{} {}", driver.empty() ? "" : ", ", name, value);
  TuningTarget target{.version = kernels_version, .device = info.name, .driver = driver};
  const Device& there = devices()[static_cast<std::size_t>(device)];
  std::vector<Configuration> configurations;
  for (const plan::Problem& problem : typical_problems(types)) {
    if (!kernel.refuses(problem, there).empty()) continue;
    for (const Candidate& candidate : kernel.candidates(problem, there)) {
      add_sizes(target.space, candidate.configuration);
      if (kernel.has_instances) configurations.push_back(candidate.configuration);
    }
  }
  for (const Configuration& configuration : configurations) {
    const std::string text = instance_of(configuration, target.space);
    if (std::ranges::find(target.configurations, text) == target.configurations.end())
      target.configurations.push_back(text);
  }
  return target;
}

}  // namespace exactile::cuda
