// SPDX-License-Identifier: Apache-2.0
#include "measurement.hpp"

#include <algorithm>

#include "exactile/devices.hpp"
#include "terminal.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

/// How much of the exact result is formed: a tenth of a second or two of comparing.
constexpr double comparison_work = 5e7;
/// A probe this long is past the start-up of a call, and its speed is about that of the whole.
constexpr double probe_seconds = 0.1;

double work(const GemmDescription& d) {
  return static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) *
         static_cast<double>(d.batch_count);
}

GemmDescription first_rows(GemmDescription description, std::int64_t rows) {
  description.m = rows;
  return description;
}

/// Seconds of one call on the first rows. A first call may compile, and meets memory for the first time; where it took
/// long enough to decide anything, the second one counts.
Result<double> probe(const MeasurementRequest& request, Place& place, std::int64_t rows) {
  Result<Plan> plan = Plan::make(first_rows(request.description, rows), request.options);
  if (!plan.ok()) return plan.status();
  const Result<double> first = place.run_once(plan.value());
  if (!first.ok() || first.value() < probe_seconds) return first;
  return place.run_once(plan.value());
}

/// How many rows are timed: all, or so many that a call takes a third of the longest one allowed. A kernel computes
/// whole tiles, so a few rows may seem dear: they grow until their time is near that third, or they are all.
Result<std::int64_t> choose_rows(const MeasurementRequest& request, Place& place) {
  const std::int64_t m = request.description.m;
  // No kernel does less than this many products of elements in a second.
  constexpr double slowest_rate = 5e7;
  const double row_work = std::max(work(first_rows(request.description, 1)), 1.0);
  if (request.longest_call_seconds <= 0 || row_work * static_cast<double>(m) < slowest_rate) return m;
  std::int64_t rows = std::clamp<std::int64_t>(static_cast<std::int64_t>(0.05 * slowest_rate / row_work), 1, m);
  while (true) {
    const Result<double> seconds = probe(request, place, rows);
    if (!seconds.ok()) return seconds.status();
    const double row_seconds = std::max(seconds.value(), 1e-9) / static_cast<double>(rows);
    if (seconds.value() < probe_seconds && rows < m) {
      rows = std::min(m, std::max(rows * 2, static_cast<std::int64_t>(probe_seconds / row_seconds)));
      continue;
    }
    if (row_seconds * static_cast<double>(m) <= request.longest_call_seconds) return m;
    const auto enough =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(request.longest_call_seconds / 3 / row_seconds), 1, m);
    if (enough < 2 * rows) return enough;
    rows = enough;
  }
}

/// From the rows that were timed to all.
void scale(measure::Timing& timing, double factor) {
  timing.first_call_seconds *= factor;
  timing.median_seconds *= factor;
  timing.min_seconds *= factor;
}

Status take_times(const Plan& plan, Place& place, const measure::TimingLimits& limits, Measurement& result) {
  if (Status s = place.poison_output(); !s.ok()) return s;
  if (Status s = place.prepare(plan, result.prepared); !s.ok()) return s;
  const Result<measure::Timing> timing = place.time(plan, limits);
  if (!timing.ok()) return timing.status();
  result.timing = timing.value();
  Result<std::vector<std::uint64_t>> counts = place.path_counts(plan);
  if (!counts.ok()) return counts.status();
  result.path_counts = std::move(counts).value();
  // Copies cannot be scaled: those of B take as long for a few rows as for all.
  if (result.partial()) {
    scale(result.timing, static_cast<double>(result.description.m) / static_cast<double>(result.timed_rows));
    return {};
  }
  if (result.prepared.a || result.prepared.b) return {};  // what is prepared need not be moved
  const Result<std::optional<double>> with_copies = place.seconds_with_copies(plan);
  if (!with_copies.ok()) return with_copies.status();
  result.seconds_with_copies = with_copies.value();
  return {};
}

}  // namespace

std::optional<double> PeakMeter::peak(Backend backend, GemmTypes types, int device) {
  const auto [place, is_new] = peaks_.try_emplace({backend, device, types.input, types.output});
  if (is_new)
    if (const Result<double> measured = measure_peak(backend, types, threads_, device);
        measured.ok() && measured.value() > 0)
      place->second = measured.value();
  return place->second;
}

double Measurement::bytes_per_second() const {
  return timing.median_seconds > 0 ? summary.model_bytes / timing.median_seconds : 0;
}

Result<Measurement> measure_kernel(const MeasurementRequest& request, Operands& operands, PeakMeter& peaks) {
  const GemmDescription& whole = request.description;
  Result<Plan> plan = Plan::make(whole, request.options);
  if (!plan.ok()) return plan.status();
  Measurement result;
  result.description = whole;
  result.accuracy = request.options.accuracy;
  result.summary = plan.value().summary();
  result.device = request.options.device;
  result.prepared = request.prepared;
  // Kept by name from here on: the planner might choose another kernel for fewer rows.
  MeasurementRequest named = request;
  named.options.kernel = result.summary.kernel;

  const Result<std::unique_ptr<Place>> made = make_place(named.options, operands);
  if (!made.ok()) return made.status();
  Place& place = *made.value();
  if (Status s = place.poison_output(); !s.ok()) return s;
  const Result<std::int64_t> rows = choose_rows(named, place);
  if (!rows.ok()) return rows.status();
  result.timed_rows = rows.value();
  const GemmDescription timed = first_rows(whole, result.timed_rows);
  if (result.partial()) plan = Plan::make(timed, named.options);
  if (!plan.ok()) return plan.status();

  if (Status s = take_times(plan.value(), place, request.limits, result); !s.ok()) return s;
  const double operations =
      operation_count(whole.types, whole.m, whole.n, whole.k) * static_cast<double>(whole.batch_count);
  if (result.timing.median_seconds > 0) result.operations_per_second = operations / result.timing.median_seconds;
  if (const auto peak = peaks.peak(result.summary.backend, whole.types, result.device))
    result.fraction_of_peak = result.operations_per_second / *peak;
  if (Status s = place.fetch_output(); !s.ok()) return s;
  result.error = verification::compare(timed, operands.arguments(0), nullptr, result.accuracy, comparison_work);
  return result;
}

std::string device_name(const Measurement& m) {
  int index = 0;
  for (const DeviceInfo& device : devices())
    if (device.backend == m.summary.backend && index++ == m.device) return device.name;
  return std::string(to_string(m.summary.backend));
}

Json row_json(const Measurement& m) {
  const GemmDescription& d = m.description;
  Json row = {{"kernel", m.summary.kernel},
              {"backend", to_string(m.summary.backend)},
              {"type", to_string(d.types)},
              {"accuracy", to_string(m.accuracy)},
              {"m", d.m},
              {"n", d.n},
              {"k", d.k},
              {"batch", d.batch_count},
              {"threads", m.summary.threads},
              {"prepared", fmt::format("{}{}", m.prepared.a ? "a" : "", m.prepared.b ? "b" : "")},
              {"median_seconds", m.timing.median_seconds},
              {"min_seconds", m.timing.min_seconds},
              {"first_call_seconds", m.timing.first_call_seconds},
              {"spread", m.timing.spread},
              {"runs", m.timing.runs},
              {"gflops", m.operations_per_second * 1e-9}};
  row["fraction_of_peak"] = m.fraction_of_peak ? Json(*m.fraction_of_peak) : Json(nullptr);
  row["seconds_with_copies"] = m.seconds_with_copies ? Json(*m.seconds_with_copies) : Json(nullptr);
  row["path_counts"] = Json::object();
  for (std::size_t i = 0; i < m.path_counts.size(); ++i) row["path_counts"][m.summary.paths[i].name] = m.path_counts[i];
  row["max_relative_error"] = m.error.max_relative_error;
  row["error_in_u"] = m.error.error_in_u;
  row["norm_error"] = m.error.norm_error;
  row["error_over_bound"] = m.error.error_over_bound;
  row["passed"] = m.error.passed;
  if (!m.error.passed) row["failure"] = m.error.failure;
  return row;
}

double chosen_cost(const PlanSummary& summary) {
  for (const Candidate& candidate : summary.candidates)
    if (candidate.chosen) return candidate.cost_seconds;
  return 0;
}

double expected_seconds(const MeasurementRequest& request) {
  const Result<Plan> plan = Plan::make(request.description, request.options);
  if (!plan.ok()) return 0;
  double call = chosen_cost(plan.value().summary());
  // A partial call takes a third of the longest one, and probing about as much as a probe.
  if (request.longest_call_seconds > 0 && call > request.longest_call_seconds) call = request.longest_call_seconds / 3;
  const double timing =
      std::max(request.limits.total_seconds + request.limits.warm_up_seconds, call * (request.limits.least_runs + 1));
  const double comparing = std::min(work(request.description), comparison_work) * 4e-9;
  return timing + 2 * probe_seconds + comparing;
}

void announce_cost(const char* what, double seconds, bool compiles) {
  if (seconds < 5) return;
  note("exactile: {} will take about {}{}", what, seconds_text(seconds),
       compiles ? "; the first on a machine some minutes more, to compile OpenCL's kernels" : "");
}

}  // namespace exactile::program
