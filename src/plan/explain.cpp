// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "plan/device_choice.hpp"
#include "plan/measured.hpp"
#include "plan/select.hpp"

namespace exactile::plan {
namespace {

// An estimate ranks kernels and is no time: a processor's peak, which it would have to be measured by, is not known to
// the planner. What was measured here is said as such.

/// Why the chosen kernel was.
std::string why_chosen(const KernelEntry& chosen, const Problem& problem, const GemmOptions& options) {
  if (!options.kernel.empty()) return "asked for by name";
  if (const auto rate = measured_rate(chosen, problem))
    return fmt::format("measured here: {:.3g} GFLOP/s, the fastest that was", *rate * 1e-9);
  return "first by estimate";
}

std::string why_lost(const KernelEntry& entry, const Problem& problem, const KernelEntry& chosen) {
  if (const auto why = entry.gives_way(problem); !why.empty()) return fmt::format("gives way: {}", why);
  const auto best = measured_rate(chosen, problem);
  if (const auto rate = measured_rate(entry, problem); best && rate)
    return fmt::format("lost: measured here: {:.3g} GFLOP/s against {:.3g}", *rate * 1e-9, *best * 1e-9);
  return fmt::format("lost: estimated to take {:.3g} times as long{}", entry.cost(problem) / chosen.cost(problem),
                     best ? ", not measured here" : "");
}

Candidate judge(const KernelEntry& entry, const Problem& problem, const GemmOptions& options,
                const KernelEntry& chosen) {
  Candidate candidate{.kernel = std::string(entry.name), .backend = entry.backend};
  const std::string_view objection = why_not(entry, problem, options);
  candidate.supported = objection.empty();
  if (!candidate.supported) {
    candidate.reason = objection;
    return candidate;
  }
  candidate.cost_seconds = entry.cost(problem);
  if (entry.offers != nullptr)
    for (const Offer& offer : entry.offers(problem, 3))
      if (!offer.configuration.empty()) candidate.configurations.push_back({offer.configuration, offer.seconds});
  candidate.chosen = &entry == &chosen;
  candidate.reason = candidate.chosen ? why_chosen(entry, problem, options) : why_lost(entry, problem, chosen);
  return candidate;
}

/// A kernel of a backend whose devices were compared with the processor.
Candidate judge_compared(const KernelEntry& entry, const Problem& problem, const GemmOptions& options,
                         const DeviceVerdict& verdict, const DeviceChoice& devices) {
  if (verdict.kernel == nullptr)
    return {.kernel = std::string(entry.name), .backend = entry.backend, .reason = verdict.reason};
  Candidate candidate = judge(entry, on_device_of(problem, devices.device),
                              naming(options, entry.backend, devices.device), *verdict.kernel);
  if (&entry != verdict.kernel) return candidate;
  candidate.chosen = &entry == devices.kernel && !devices.only_if_pinned;
  candidate.reason = verdict.reason;
  candidate.cost_seconds = verdict.seconds;
  return candidate;
}

using Candidates = std::span<const Candidate>;

/// "a, b, c", broken into lines that start with `indent` spaces.
std::string paragraph(Candidates candidates, std::size_t indent) {
  constexpr std::size_t width = 100;
  std::string text;
  std::size_t column = width;
  for (const Candidate& candidate : candidates) {
    if (column + candidate.kernel.size() + 2 > width) {
      text += fmt::format("{}\n{:{}}", text.empty() ? "" : ",", "", indent);
      column = indent;
    } else {
      text += ", ";
    }
    text += candidate.kernel;
    column += candidate.kernel.size() + 2;
  }
  return text;
}

/// How the kernel's own configurations compare.
std::string configuration_lines(const Candidate& candidate) {
  std::string text;
  for (const ConfigurationEstimate& c : candidate.configurations)
    text += fmt::format("\n        {:.3g} x  {}", c.seconds / candidate.configurations.front().seconds, c.parameters);
  return text;
}

std::string candidate_line(const Candidate& c) {
  return fmt::format("\n    {} {:<28} {}", c.chosen ? '*' : (c.supported ? '-' : 'x'), c.kernel, c.reason) +
         configuration_lines(c);
}

/// One line a kernel, those that could do the product first; but one paragraph for several of a backend that are
/// refused for one reason, and for very many their number.
std::string candidate_lines(std::vector<Candidate> candidates) {
  constexpr std::size_t most_named = 12;
  std::string text;
  const auto refused = std::ranges::stable_partition(candidates, &Candidate::supported);
  for (const Candidate& c : Candidates(candidates.begin(), refused.begin())) text += candidate_line(c);
  for (Candidates rest(refused); !rest.empty();) {
    const Candidate first = rest.front();
    const auto others = std::ranges::stable_partition(std::span(candidates).last(rest.size()), [&](const Candidate& c) {
      return c.backend == first.backend && c.reason == first.reason;
    });
    const Candidates alike = rest.first(rest.size() - others.size());
    if (alike.size() > 2)
      text += fmt::format("\n    x {} of {}: {}{}", alike.size(), to_string(first.backend), first.reason,
                          alike.size() > most_named ? "" : paragraph(alike, 8));
    else
      for (const Candidate& c : alike) text += candidate_line(c);
    rest = rest.last(others.size());
  }
  return text;
}

std::string_view scaled_lines(const GemmDescription& d) {
  if (d.row_scales && d.column_scales) return ", rows of A and columns of B scaled";
  if (d.row_scales) return ", rows of A scaled";
  return d.column_scales ? ", columns of B scaled" : "";
}

}  // namespace

std::vector<Candidate> explain_candidates(std::span<const BackendEntry* const> backends, const Problem& problem,
                                          const GemmOptions& options, const KernelEntry& chosen,
                                          const DeviceChoice& devices) {
  const bool on_device = devices.kernel != nullptr && !devices.only_if_pinned;
  std::vector<Candidate> candidates;
  for (const BackendEntry* backend : backends) {
    const auto verdict = std::ranges::find(devices.verdicts, backend, &DeviceVerdict::backend);
    for (const KernelEntry& entry : backend->kernels()) {
      Candidate candidate = verdict != devices.verdicts.end()
                                ? judge_compared(entry, problem, options, *verdict, devices)
                                : judge(entry, problem, options, chosen);
      if (candidate.chosen && on_device && &entry == &chosen) {
        candidate.chosen = false;
        candidate.reason = fmt::format("in reserve, for when the device of {} cannot compute",
                                       to_string(devices.offload->backend->backend));
      }
      candidates.push_back(std::move(candidate));
    }
    if (backend->kernels().empty())
      candidates.push_back({.kernel = fmt::format("all of {}", to_string(backend->backend)),
                            .backend = backend->backend,
                            .reason = why_left_out(*backend)});
  }
  return candidates;
}

Traffic least_traffic(const GemmDescription& d) {
  const auto size = [](ElementType type) { return static_cast<double>(size_in_bytes(type)); };
  const auto products = [&](const OperandLayout& layout) {
    return layout.batch_stride == 0 && !layout.pointer_array ? 1.0 : static_cast<double>(d.batch_count);
  };
  const auto m = static_cast<double>(d.m);
  const auto n = static_cast<double>(d.n);
  const auto k = static_cast<double>(d.k);
  return {size(d.types.input) * m * k * products(d.a) + size(d.types.input_b) * k * n * products(d.b),
          size(d.types.output) * m * n * static_cast<double>(d.batch_count)};
}

std::string to_text(const GemmDescription& d, const PlanSummary& summary, const GemmOptions& options,
                    const AprioriBound& bound, std::string_view reach_of_bits) {
  std::string text =
      fmt::format("C[{} x {}] <- A[{} x {}] * B[{} x {}], {}", d.m, d.n, d.m, d.k, d.k, d.n, to_string(d.types));
  if (d.batch_count != 1) text += fmt::format(", {} products", d.batch_count);
  text += scaled_lines(d);
  text += summary.kernel.empty() ? "\n  kernel       none: nothing to multiply"
                                 : fmt::format("\n  kernel       {} ({})", summary.kernel, to_string(summary.backend));
  if (!summary.blocking.empty()) text += fmt::format("\n  blocking     {}", summary.blocking);
  text += fmt::format("\n  accumulator  {}\n  accuracy     {}: |C^ - C| <= {:.3g} |C| + {:.3g} |A||B|",
                      summary.accumulator, to_string(options.accuracy), bound.of_result, bound.of_terms);
  if (options.reproducible)
    text += fmt::format("\n  reproducible the same bits whatever m, n and the batch are{}{}",
                        reach_of_bits.empty() ? "" : ", ", reach_of_bits);
  text += fmt::format("\n  threads      {}\n  scratch      {} bytes", summary.threads, summary.workspace_bytes);
  text += fmt::format("\n  operations   {:.4g}\n  bytes        {:.4g} by the kernel's model, {:.4g} at least",
                      summary.operations, summary.model_bytes, summary.minimum_bytes);
  for (const Path& path : summary.paths)
    text += fmt::format("\n  {:<12} {} ({}): {}", &path == summary.paths.data() ? "paths" : "", path.name, path.counts,
                        path.when);
  if (!summary.candidates.empty()) text += "\n  candidates" + candidate_lines(summary.candidates);
  return text + "\n";
}

}  // namespace exactile::plan
