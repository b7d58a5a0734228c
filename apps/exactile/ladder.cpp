// SPDX-License-Identifier: Apache-2.0
#include "ladder.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "commands.hpp"
#include "exactile/devices.hpp"
#include "ladder_report.hpp"
#include "measurement.hpp"
#include "terminal.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(Columns: time (median, by the clock of the device that computes); copied: that and moving the operands to the device
and C back, which speed-up and the rest leave out; speed-up over cpu_naive, GFLOP/s, fraction of the peak measured on
this device; traffic: the bytes that the kernel's model moves; x min: that over the least possible; GB/s: that over
the time. Against a result of higher precision: error/u, the largest error of an element over its |A||B|, in units of the
roundoff u of the type that sums (of C's where that is narrower); norm, the norm of all errors over that of C; x bound, the
largest error over its bound (1 is the most allowed).
On a terminal that is wide enough a bar shows each kernel's speed beside the fastest one's; colours are left out where
NO_COLOR is set.
A kernel that would take longer than 3 s is timed on part of its rows; the table marks it with a *. Kernels that keep
another accuracy than the one asked for, standard, are shown in what they keep, named behind them (cr:
correctly_rounded, cmp: compensated).

--sweep makes cubes of m*k*n = 10^3, 10^4, ... up to --max and sets cpu_naive against the planner's choice on the
processor and on each kind of device there is. Sizes for which the memory is too small are left out.

Exit status: 1 a kernel's error is above its bound.)";

std::vector<KernelInfo> kernels_to_run(const LadderOptions& options, const GemmDescription& description,
                                       LadderReport& report) {
  std::vector<KernelInfo> wanted_kernels;
  bool any_wanted = false;
  for (const KernelInfo& kernel : kernels()) {
    const bool is_base = kernel.name == base_kernel;
    const bool fits = std::ranges::find(kernel.types, description.types) != kernel.types.end();
    const bool wanted = is_of_backend(kernel, options.choice.backend) &&
                        (options.choice.kernel.empty() || kernel.name == options.choice.kernel);
    if (!fits || !(wanted || is_base)) continue;
    if (!kernel.available) {
      report.skipped.push_back({kernel.name, kernel.reason});
      continue;
    }
    any_wanted = any_wanted || wanted;
    wanted_kernels.push_back(kernel);
  }
  if (!any_wanted) fail_for_want_of_kernels(description, options.choice);
  return wanted_kernels;
}

/// In which a kernel is shown: the one asked for; the others that it keeps, where it refuses `standard`.
std::vector<Accuracy> accuracies_of(const GemmDescription& description, GemmOptions options) {
  const auto takes = [&](Accuracy accuracy) {
    options.accuracy = accuracy;
    return Plan::make(description, options).ok();
  };
  const Accuracy asked = options.accuracy;
  if (asked != Accuracy::standard || !is_floating(description.types.input) || takes(asked)) return {asked};
  std::vector<Accuracy> kept;
  for (const Accuracy accuracy : {Accuracy::reduced, Accuracy::compensated, Accuracy::correctly_rounded})
    if (takes(accuracy)) kept.push_back(accuracy);
  return kept.empty() ? std::vector{asked} : kept;
}

Exit run_ladder(const LadderOptions& options) {
  const SizeOptions sizes{.m = options.m, .n = options.n, .k = options.k};
  const GemmDescription description = describe(sizes, parse_types(options.type));
  require_work(sizes);
  LadderReport report{.rows = {}, .skipped = {}, .fill = options.fill, .threads = gemm_options(options.choice).threads};
  if (report.threads == 0) report.threads = default_threads();
  std::vector<MeasurementRequest> requests;
  double seconds = 0;
  bool compiles = false;
  for (const KernelInfo& kernel : kernels_to_run(options, description, report)) {
    compiles = compiles || kernel.backend == Backend::opencl;
    GemmOptions choice = options_for(options.choice, kernel);
    for (const Accuracy accuracy : accuracies_of(description, choice)) {
      choice.accuracy = accuracy;
      requests.push_back({.description = description,
                          .options = choice,
                          .limits = {.warm_up_seconds = 0.05, .total_seconds = 0.2, .least_runs = 3, .most_runs = 1000},
                          .longest_call_seconds = longest_ladder_call_seconds});
      seconds += expected_seconds(requests.back());
    }
  }
  require_operand_memory(description);
  announce_cost("this ladder", seconds, compiles);
  Operands operands(description, parse_fill(options.fill), options.seed);
  PeakMeter peaks(static_cast<int>(options.choice.threads));
  Progress progress;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const MeasurementRequest& request = requests[i];
    progress.show(fmt::format("{} ({} of {})", request.options.kernel, i + 1, requests.size()));
    Result<Measurement> measured = measure_kernel(request, operands, peaks);
    if (measured.ok())
      report.rows.push_back(std::move(measured).value());
    else
      report.skipped.push_back({request.options.kernel, refusal(measured.status(), request.options.kernel)});
  }
  progress.clear();
  if (report.rows.empty()) fail(Exit::bad_usage, "no kernel can run this product");
  std::stable_sort(report.rows.begin(), report.rows.end(), [](const Measurement& a, const Measurement& b) {
    return a.timing.median_seconds > b.timing.median_seconds;
  });
  if (options.json)
    print_ladder_json(report);
  else if (options.csv)
    print_ladder_csv(report);
  else
    print_ladder_text(report, options.markdown ? LadderText::markdown : LadderText::terminal);
  const bool passed = std::all_of(report.rows.begin(), report.rows.end(), [](const auto& r) { return r.error.passed; });
  return passed ? Exit::done : Exit::check_failed;
}

Exit run(const LadderOptions& options, std::ptrdiff_t sizes_given) {
  if (options.json + options.csv + options.markdown > 1)
    fail(Exit::bad_usage, "--json, --csv and --markdown exclude each other; expected one of them");
  if (options.sweep && (options.csv || options.markdown))
    fail(Exit::bad_usage, "--sweep prints text or --json; expected no --csv or --markdown beside it");
  if (options.sweep && sizes_given > 0)
    fail(Exit::bad_usage, "--sweep has sizes of its own; expected no M N K beside it");
  if (options.sweep) return run_sweep(options);
  if (sizes_given == 0) fail(Exit::bad_usage, "M N K are missing; expected three sizes, or --sweep");
  if (sizes_given == 1) fail(Exit::bad_usage, "N K are missing; expected three sizes, M N K");
  if (sizes_given == 2) fail(Exit::bad_usage, "K is missing; expected three sizes, M N K");
  return run_ladder(options);
}

}  // namespace

GemmOptions options_for(const ChoiceOptions& choice, const KernelInfo& kernel) {
  ChoiceOptions settled = choice;
  settled.kernel = kernel.name;
  settled.backend.clear();
  if (!kernel.on_device) {
    settled.memory = "host";
    settled.device = 0;
  }
  return measured_options(settled);
}

Action add_ladder(CommandLine& command) {
  const auto options = std::make_shared<LadderOptions>();
  const std::array sizes{add_integer(command, "M", options->m, "Rows of A and C"),
                         add_integer(command, "N", options->n, "Columns of B and C"),
                         add_integer(command, "K", options->k, "Columns of A, rows of B")};
  command.add_option("--type", options->type, "Element type (default f32): " + type_names())->type_name("T");
  command.add_option("--fill", options->fill, "What A and B hold: normal (default), uniform, small_integers, ...")
      ->type_name("NAME");
  add_seed(command, options->seed);
  add_choice_options(command, options->choice);
  add_memory_option(command, options->choice);
  Option* const sweep =
      command.add_flag("--sweep", options->sweep, "The table of sizes instead of the table of kernels");
  command.add_option("--max", options->largest, "Largest m*k*n of the sweep (default 1e10)")
      ->type_name("X")
      ->needs(sweep);
  command.add_flag("--json", options->json, "As JSON (exactile.ladder/1)");
  command.add_flag("--csv", options->csv, "As comma-separated values, numbers in full");
  command.add_flag("--markdown", options->markdown, "As a Markdown table");
  command.footer(footer);
  return [options, sizes] {
    return run(*options, std::ranges::count_if(sizes, [](const Option* size) { return size->count() > 0; }));
  };
}

}  // namespace exactile::program
