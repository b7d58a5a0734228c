// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "exactile/devices.hpp"
#include "ladder.hpp"
#include "ladder_report.hpp"
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

MeasurementRequest request_for(const LadderOptions& options, std::int64_t edge, bool base) {
  MeasurementRequest request;
  request.description = describe({.m = edge, .n = edge, .k = edge}, parse_types(options.type));
  request.options = gemm_options(options.choice);
  request.limits = {.warm_up_seconds = 0.02, .total_seconds = 0.3, .least_runs = 3, .most_runs = 1000};
  if (base) {
    request.options.backend.clear();
    request.options.kernel = base_kernel;
    request.longest_call_seconds = longest_ladder_call_seconds;
  }
  return request;
}

std::string line(const std::string& product, const std::string& size, const std::string& naive, const std::string& best,
                 const std::string& ratio, const std::string& rate, const std::string& peak, const std::string& bound,
                 const std::string& kernel) {
  return fmt::format("{:<8} {:>8} {:>10} {:>10} {:>9} {:>9} {:>8} {:>8}  {}\n", product, size, naive, best, ratio, rate,
                     peak, bound, kernel);
}

std::string row_text(std::int64_t edge, const std::optional<Measurement>& base, const Measurement& best) {
  const double product = static_cast<double>(edge) * static_cast<double>(edge) * static_cast<double>(edge);
  const double ratio = base ? base->timing.median_seconds / best.timing.median_seconds : 0;
  return line(fmt::format("1e{:.0f}", std::log10(product)), fmt::format("{}", edge),
              base ? seconds_text(base->timing.median_seconds) + (base->partial() ? "*" : "") : "-",
              seconds_text(best.timing.median_seconds), base ? fmt::format("{}x", number_text(ratio)) : "-",
              number_text(best.operations_per_second * 1e-9),
              best.fraction_of_peak ? percent_text(*best.fraction_of_peak) : "-",
              best.error.passed ? number_text(best.error.error_over_bound) : "FAILED", best.summary.kernel);
}

void print_heading(const LadderOptions& options, int threads) {
  print_result("Cubes m = k = n, {}, {} data, up to {} thread{}: {} against the planner's choice\n\n", options.type,
               options.fill, threads, threads == 1 ? "" : "s", base_kernel);
  print_result("{}", bold(line("m*k*n", "m", std::string(base_kernel), "best", "speed-up", "GFLOP/s", "of peak",
                               "x bound", "kernel")));
}

}  // namespace

Exit run_sweep(const LadderOptions& options) {
  const std::vector<std::int64_t> edges = cube_edges(options.largest);
  const verification::Fill fill = parse_fill(options.fill);
  double seconds = 0;
  for (const std::int64_t edge : edges)
    for (const bool base : {true, false}) seconds += expected_seconds(request_for(options, edge, base));
  require_operand_memory(request_for(options, edges.back(), true).description);
  announce_cost("this sweep", seconds);

  LadderReport report{.rows = {}, .skipped = {}, .fill = options.fill, .threads = gemm_options(options.choice).threads};
  PeakMeter peaks(report.threads);
  if (report.threads == 0) report.threads = default_threads();
  if (!options.json) print_heading(options, report.threads);
  bool partial = false;
  Progress progress;
  for (const std::int64_t edge : edges) {
    Operands operands(request_for(options, edge, true).description, fill, options.seed);
    std::optional<Measurement> base;
    progress.show(fmt::format("m = k = n = {}", edge));
    if (Result<Measurement> measured = measure_kernel(request_for(options, edge, true), operands, peaks); measured.ok())
      base = std::move(measured).value();
    Measurement best = require(measure_kernel(request_for(options, edge, false), operands, peaks));
    progress.clear();
    if (!options.json) print_result("{}", row_text(edge, base, best));
    partial = partial || (base && base->partial());
    if (base) report.rows.push_back(std::move(*base));
    report.rows.push_back(std::move(best));
  }
  if (options.json)
    print_ladder_json(report);
  else if (partial)
    print_result("* timed on part of its rows, and multiplied\n");
  const bool passed = std::all_of(report.rows.begin(), report.rows.end(), [](const auto& r) { return r.error.passed; });
  return passed ? Exit::done : Exit::check_failed;
}

}  // namespace exactile::program
