// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "exactile/devices.hpp"
#include "ladder.hpp"
#include "ladder_report.hpp"
#include "memory.hpp"
#include "terminal.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

constexpr double smallest_product = 1e3;
constexpr double largest_product = 1e15;

std::vector<std::int64_t> cube_edges(double largest) {
  if (!(largest >= smallest_product && largest <= largest_product))
    fail(Exit::bad_usage, "--max {}: expected 1e3 to 1e15", largest);
  std::vector<std::int64_t> edges;
  // A little more than asked for, so that --max 1e10 has 10^10 whatever the rounding.
  for (double product = smallest_product; product <= largest * 1.001; product *= 10)
    edges.push_back(std::llround(std::cbrt(product)));
  return edges;
}

MeasurementRequest request_for(const LadderOptions& options, std::int64_t edge, const GemmOptions& contender) {
  MeasurementRequest request;
  request.description = describe({.m = edge, .n = edge, .k = edge}, parse_types(options.type));
  request.options = contender;
  request.limits = {.warm_up_seconds = 0.02, .total_seconds = 0.3, .least_runs = 3, .most_runs = 1000};
  request.longest_call_seconds = longest_ladder_call_seconds;
  return request;
}

/// The plain loop first.
std::vector<GemmOptions> contenders(const LadderOptions& options) {
  std::vector<GemmOptions> wanted;
  std::vector<Backend> backends;
  const bool is_named = backend_named(options.choice.backend) != Backend::automatic || !options.choice.kernel.empty();
  for (const KernelInfo& kernel : kernels()) {
    if (kernel.name == base_kernel) wanted.insert(wanted.begin(), options_for(options.choice, kernel));
    const bool is_seen = std::find(backends.begin(), backends.end(), kernel.backend) != backends.end();
    if (is_named || !kernel.available || is_seen) continue;
    backends.push_back(kernel.backend);
    ChoiceOptions choice = options.choice;
    if (!kernel.on_device) choice.device = 0;
    choice.backend = to_string(kernel.backend);
    wanted.push_back(measured_options(choice));
  }
  if (is_named) wanted.push_back(measured_options(options.choice));
  return wanted;
}

/// The column `copied` is there for devices only.
std::string line(const std::array<std::string, 10>& cells, bool with_copies) {
  constexpr int widths[] = {-8, 8, 10, 10, 10, 9, 9, 8, 8};
  std::string text;
  for (std::size_t i = 0; i < std::size(widths); ++i)
    if (i != 4 || with_copies)
      text +=
          widths[i] < 0 ? fmt::format("{:<{}} ", cells[i], -widths[i]) : fmt::format("{:>{}} ", cells[i], widths[i]);
  return fmt::format("{} {}\n", text, cells.back());
}

std::string row_text(std::int64_t edge, const std::optional<Measurement>& base, const Measurement& best,
                     bool with_copies) {
  const double product = static_cast<double>(edge) * static_cast<double>(edge) * static_cast<double>(edge);
  const double ratio = base ? base->timing.median_seconds / best.timing.median_seconds : 0;
  const auto time_text = [](const Measurement& m) {
    return seconds_text(m.timing.median_seconds) + (m.partial() ? "*" : "");
  };
  return line({fmt::format("1e{:.0f}", std::log10(product)), fmt::format("{}", edge), base ? time_text(*base) : "-",
               time_text(best), best.seconds_with_copies ? seconds_text(*best.seconds_with_copies) : "-",
               base ? fmt::format("{}x", number_text(ratio)) : "-", number_text(best.operations_per_second * 1e-9),
               best.fraction_of_peak ? percent_text(*best.fraction_of_peak) : "-",
               best.error.passed ? number_text(best.error.error_over_bound) : "FAILED", best.summary.kernel},
              with_copies);
}

void print_heading(const LadderOptions& options, int threads, bool with_copies) {
  print_result("Cubes m = k = n, {}, {} data, up to {} thread{}: {} against the planner's choice\n\n", options.type,
               options.fill, threads, threads == 1 ? "" : "s", base_kernel);
  print_result("{}", bold(line({"m*k*n", "m", std::string(base_kernel), "best", "copied", "speed-up", "GFLOP/s",
                                "of peak", "x bound", "kernel"},
                               with_copies)));
}

bool any_on_device(const std::vector<GemmOptions>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [](const auto& options) { return options.memory == Memory::device; });
}

/// The sizes whose operands fit in memory.
std::vector<std::int64_t> edges_that_fit(const LadderOptions& options) {
  std::vector<std::int64_t> edges = cube_edges(options.largest);
  const auto bytes = [&](std::int64_t edge) { return operand_bytes(request_for(options, edge, {}).description); };
  while (edges.size() > 1 && bytes(edges.back()) > available_memory()) {
    note("not run: m = k = n = {}: the operands would take {} of memory", edges.back(),
         bytes_text(static_cast<double>(bytes(edges.back()))));
    edges.pop_back();
  }
  return edges;
}

/// The table for a person, line by line; its heading waits for the first, because there may be none.
class SweepTable {
 public:
  SweepTable(const LadderOptions& options, int threads, bool with_copies)
      : options_(options), threads_(threads), with_copies_(with_copies) {}

  void add(std::int64_t edge, const std::optional<Measurement>& base, const Measurement& best) {
    if (!std::exchange(has_heading_, true)) print_heading(options_, threads_, with_copies_);
    print_result("{}", row_text(edge, base, best, with_copies_));
  }

 private:
  const LadderOptions& options_;
  int threads_;
  bool with_copies_;
  bool has_heading_ = false;
};

/// One line of the table for each contender after the first, and whether there was one; what cannot be run is said
/// once.
bool run_edge(const LadderOptions& options, std::int64_t edge, const std::vector<GemmOptions>& wanted, PeakMeter& peaks,
              LadderReport& report, SweepTable& table) {
  Operands operands(request_for(options, edge, {}).description, parse_fill(options.fill), options.seed);
  std::optional<Measurement> base;
  bool any_ran = false;
  Progress progress;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    progress.show(fmt::format("m = k = n = {} ({} of {})", edge, i + 1, wanted.size()));
    Result<Measurement> measured = measure_kernel(request_for(options, edge, wanted[i]), operands, peaks);
    progress.clear();
    if (!measured.ok()) {
      const std::string who = wanted[i].kernel.empty() ? std::string(to_string(wanted[i].backend)) : wanted[i].kernel;
      report.skipped.push_back(
          {fmt::format("{}, m = k = n = {}", who, edge), refusal(measured.status(), wanted[i].kernel)});
      continue;
    }
    if (i == 0)
      base = measured.value();
    else if (!options.json)
      table.add(edge, base, measured.value());
    any_ran = any_ran || i > 0;
    report.rows.push_back(std::move(measured).value());
  }
  return any_ran;
}

}  // namespace

Exit run_sweep(const LadderOptions& options) {
  const std::vector<std::int64_t> edges = edges_that_fit(options);
  const std::vector<GemmOptions> wanted = contenders(options);
  double seconds = 0;
  for (const std::int64_t edge : edges)
    for (const GemmOptions& contender : wanted) seconds += expected_seconds(request_for(options, edge, contender));
  require_operand_memory(request_for(options, edges.back(), {}).description);
  announce_cost("this sweep", seconds);

  LadderReport report{.rows = {}, .skipped = {}, .fill = options.fill, .threads = gemm_options(options.choice).threads};
  PeakMeter peaks(report.threads);
  if (report.threads == 0) report.threads = default_threads();
  SweepTable table(options, report.threads, any_on_device(wanted));
  bool any_ran = false;
  for (const std::int64_t edge : edges) any_ran = run_edge(options, edge, wanted, peaks, report, table) || any_ran;
  if (!any_ran) fail_for_want_of_kernels(request_for(options, edges.back(), {}).description, options.choice);
  const auto any = [&](auto&& of) { return std::any_of(report.rows.begin(), report.rows.end(), of); };
  if (options.json) {
    print_ladder_json(report);
  } else {
    if (any([](const Measurement& row) { return row.partial(); }))
      print_result("* timed on part of its rows, and multiplied\n");
    note_skipped(report.skipped);
  }
  return any([](const Measurement& row) { return !row.error.passed; }) ? Exit::check_failed : Exit::done;
}

}  // namespace exactile::program
