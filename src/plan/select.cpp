// SPDX-License-Identifier: Apache-2.0
#include "plan/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/nearest.hpp"
#include "plan/measured.hpp"

namespace exactile::plan {

std::string why_left_out(const BackendEntry& backend) {
  std::set<std::string> reasons;
  for (const DeviceInfo& device : backend.devices()) reasons.insert(device.reason);
  return fmt::format("{}", fmt::join(reasons, "; "));
}

bool is_asked(const BackendEntry& backend, const GemmOptions& options) {
  if (options.backend != Backend::automatic) return backend.backend == options.backend;
  return !backend.opens_driver || !options.kernel.empty();
}

namespace {

Status unknown_kernel(std::span<const BackendEntry* const> backends, const GemmOptions& options) {
  std::vector<std::string_view> names;
  std::string absent;
  for (const BackendEntry* backend : backends) {
    if (options.backend != Backend::automatic && backend->backend != options.backend) continue;
    for (const KernelEntry& entry : backend->kernels()) names.push_back(entry.name);
    if (backend->kernels().empty())
      absent += fmt::format("; those of {} are not here ({})", to_string(backend->backend), why_left_out(*backend));
  }
  return {StatusCode::unknown_name,
          fmt::format(
              "kernel '{}' is not known{}{} (kernels() lists all {}){}", core::shortened(options.kernel),
              options.backend == Backend::automatic ? "" : fmt::format(" to backend '{}'", to_string(options.backend)),
              core::nearest_names(options.kernel, names), names.size(), absent)};
}

Status left_out(const BackendEntry& backend) {
  return {StatusCode::device_unavailable,
          fmt::format("backend '{}' cannot do this product: {}", to_string(backend.backend), why_left_out(backend))};
}

Status check_names(std::span<const BackendEntry* const> backends, const GemmOptions& options) {
  const auto backend_matches = [&](const BackendEntry* b) {
    return options.backend == Backend::automatic || b->backend == options.backend;
  };
  const auto match = std::ranges::find_if(backends, backend_matches);
  if (options.backend != Backend::automatic && match != backends.end() && (*match)->kernels().empty())
    return left_out(**match);
  if (options.kernel.empty()) return {};
  for (const BackendEntry* backend : backends)
    if (backend_matches(backend))
      for (const KernelEntry& entry : backend->kernels())
        if (entry.name == options.kernel) return {};
  return unknown_kernel(backends, options);
}

/// Devices are counted within a backend, and the processor is its backend's only one.
Status check_device(std::span<const BackendEntry* const> backends, const Problem& problem, const GemmOptions& options) {
  if (problem.device == 0) return {};
  if (options.backend == Backend::automatic && options.kernel.empty())
    return {StatusCode::invalid_argument,
            fmt::format("device = {}: expected the backend whose device it is to be named", problem.device)};
  for (const BackendEntry* backend : backends) {
    if (options.backend != Backend::automatic && backend->backend != options.backend) continue;
    for (const KernelEntry& entry : backend->kernels())
      if (entry.on_device && (options.kernel.empty() || entry.name == options.kernel)) return {};
  }
  return no_such_processor(problem.device, options.kernel.empty() ? to_string(options.backend) : options.kernel);
}

constexpr std::string_view is_ladder = "a ladder kernel; runs only when asked for by name";
constexpr std::string_view reads_as_stored = "does not conjugate operands";
constexpr std::string_view has_other_types = "does not multiply these types";
constexpr std::string_view is_uncertified = "keeps no accuracy beyond standard";
constexpr std::string_view is_not_reproducible = "its order of summation depends on more than k (reproducible)";
constexpr std::string_view has_no_parameters = "has no parameters that could be set";

/// Unavailable everywhere for one reason ("no NVIDIA driver is installed") is the reason to name.
Status nobody_can(std::span<const BackendEntry* const> backends, const Problem& problem, const GemmOptions& options) {
  if (problem.memory == Memory::device && options.backend == Backend::automatic && options.kernel.empty())
    return {StatusCode::invalid_argument, "memory = device: expected the backend whose device it is to be named"};
  std::set<std::string_view> reasons;
  std::set<std::string_view> missing;  // what kernels need that could do it, were it there
  bool is_available = false;
  for (const BackendEntry* backend : backends) {
    if (!is_asked(*backend, options)) continue;
    for (const KernelEntry& entry : backend->kernels()) {
      if (!options.kernel.empty() && entry.name != options.kernel) continue;
      if (entry.on_device && options.backend == Backend::automatic && options.kernel.empty()) continue;
      const std::string_view unavailable = entry.unavailable(problem.device);
      is_available = is_available || !entry.on_device || unavailable.empty();
      if (const auto reason = why_not(entry, problem, options); !reason.empty()) {
        if (reason == unavailable) missing.insert(reason);
        reasons.insert(reason);
      }
    }
  }
  // What every product of other types would hear too is left out where there is more to say; where parameters were
  // set and a kernel that is here refuses them, so is what others are missing.
  for (const std::string_view reason : {is_ladder, has_other_types, has_no_parameters})
    if (reasons.size() > 1) reasons.erase(reason);
  if (!options.parameters.empty() && !std::ranges::includes(missing, reasons))
    for (const std::string_view reason : missing) reasons.erase(reason);
  const std::string who =
      !options.kernel.empty() ? fmt::format("kernel '{}' cannot do this product", options.kernel)
      : options.backend != Backend::automatic
          ? fmt::format("backend '{}' cannot do this product", to_string(options.backend))
          : fmt::format("no kernel on this machine multiplies {}{}", to_string(problem.description.types),
                        options.parameters.empty() ? "" : fmt::format(" with parameters '{}'", options.parameters));
  return {is_available || missing.empty() ? StatusCode::unsupported : StatusCode::device_unavailable,
          reasons.empty() ? who : fmt::format("{}: {}", who, fmt::join(reasons, "; "))};
}

/// The backend's kernels but, where it can tell, those of other types.
template <class Visit>
void visit_kernels(const BackendEntry& backend, GemmTypes types, const Visit& visit) {
  if (backend.kernels_of == nullptr)
    for (const KernelEntry& entry : backend.kernels()) visit(entry);
  else
    for (const KernelEntry* entry : backend.kernels_of(types)) visit(*entry);
}

/// The fastest of the kernels that were measured here, if the one that seemed cheapest was too: estimates are not
/// weighed against measurements.
const KernelEntry* fastest_measured(std::span<const BackendEntry* const> backends, const Problem& problem,
                                    const GemmOptions& options, const KernelEntry* cheapest) {
  std::optional<double> best_rate = measured_rate(*cheapest, problem);
  if (!best_rate) return cheapest;
  const KernelEntry* best = cheapest;
  for (const BackendEntry* backend : backends) {
    if (!is_asked(*backend, options)) continue;
    visit_kernels(*backend, problem.description.types, [&](const KernelEntry& entry) {
      if (!why_not(entry, problem, options).empty() || !entry.gives_way(problem).empty()) return;
      if (const auto rate = measured_rate(entry, problem); rate > best_rate) {
        best = &entry;
        best_rate = rate;
      }
    });
  }
  return best;
}

/// Nothing is multiplied: kernels are judged by what they say of themselves, and not asked about sizes of zero.
bool is_empty(const GemmDescription& d) { return d.m == 0 || d.n == 0 || d.k == 0 || d.batch_count == 0; }

}  // namespace

Status no_such_processor(int device, std::string_view who) {
  return {StatusCode::invalid_argument,
          fmt::format("device = {}: {} computes on the processor, which is device 0", device, who)};
}

std::string_view why_not(const KernelEntry& entry, const Problem& problem, const GemmOptions& options) {
  if (options.backend != Backend::automatic && entry.backend != options.backend) return "another backend was asked for";
  if (!options.kernel.empty() && entry.name != options.kernel) return "another kernel was asked for";
  if (entry.on_device && options.backend == Backend::automatic && options.kernel.empty())
    return "a device's kernel; not compared with the processor's for this product";
  if (problem.memory == Memory::device && !entry.on_device) return "computes in host memory";
  if (options.kernel.empty() && entry.role == "ladder") return is_ladder;
  if (std::ranges::find(entry.types, problem.description.types) == entry.types.end()) return has_other_types;
  if ((problem.description.a.conjugate || problem.description.b.conjugate) && !entry.conjugates) return reads_as_stored;
  if (problem.accuracy > Accuracy::standard && is_floating(problem.description.types.input) && !entry.certifies)
    return is_uncertified;
  if (problem.reproducible && is_floating(problem.description.types.input) && !entry.reproducible)
    return is_not_reproducible;
  if (!options.parameters.empty() && entry.tunable == nullptr) return has_no_parameters;
  if (const auto reason = entry.unavailable(problem.device); !reason.empty()) return reason;
  if (!options.parameters.empty() && entry.tunable(problem.description.types, problem.device).space.empty())
    return has_no_parameters;
  return is_empty(problem.description) ? std::string_view() : entry.refuses(problem);
}

Result<const KernelEntry*> select(std::span<const BackendEntry* const> backends, const Problem& problem,
                                  const GemmOptions& options) {
  if (options.backend != Backend::automatic || !options.kernel.empty())
    if (Status s = check_names(backends, options); !s.ok()) return s;
  if (Status s = check_device(backends, problem, options); !s.ok()) return s;
  const KernelEntry* best = nullptr;
  auto best_rank = std::pair(true, std::numeric_limits<double>::infinity());
  for (const BackendEntry* backend : backends) {
    if (!is_asked(*backend, options)) continue;
    visit_kernels(*backend, problem.description.types, [&](const KernelEntry& entry) {
      if (!why_not(entry, problem, options).empty()) return;
      const auto rank =
          std::pair(!entry.gives_way(problem).empty(), is_empty(problem.description) ? 0 : entry.cost(problem));
      if (best == nullptr || rank < best_rank) {
        best = &entry;
        best_rank = rank;
      }
    });
  }
  if (best == nullptr) return nobody_can(backends, problem, options);
  return fastest_measured(backends, problem, options, best);
}

}  // namespace exactile::plan
