// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "exactile/devices.hpp"
#include "measurement.hpp"
#include "memory.hpp"
#include "options.hpp"
#include "suite.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(Median, smallest time and spread (interquartile range over the median) of at least --runs calls after a warm-up;
the first call apart. Kernels of a device with memory of its own are timed there, by its clock, and `copied` is
the time of moving the operands, one run, and moving C back; --memory host times calls with operands in host
memory. Where A, B or C is vector-like (m, n or k of 16 or less) the calls take turns on copies of the operands
that together are twice the last cache, so that memory is timed and not the cache; --rotate says otherwise (of a
suite: auto, or on for every product). Several --type and --kernel may be given; `--kernel all` takes every one
that is available.

--suite FILE times many products, this library and others turn by turn in one process: every other round in the
opposite order, medians, operands and results the same for all; each result is checked first. FILE has a product
a line, MxNxK or COUNTxMxNxK, with `ta` or `tb` after it where A or B is stored transposed; lines `types f32
f64`, `accuracies standard reduced` and `fills normal uniform` say what follows; a line `family WORDS` names the
suite in its results.
--rivals auto takes every library that is found: OpenBLAS, BLIS, oneDNN, MKL, libxsmm; with a --backend that has
memory of its own cuBLAS and cuBLASLt, or CLBlast; cuBLASXt with --memory host. NAME=PATH[,VARIABLE=VALUE] names
one; own is this library under `standard` and not reproducible. --output keeps each product when it is done
(results/schema.json); the same command goes on from there, and `exactile report` draws it.

Of several kernels those that refuse the product are noted, and the others are timed.

Exit status: 1 a result's error is above its bound, 2 also where one of several kernels that were named refuses.)";

struct Options {
  SizeOptions sizes;
  std::vector<std::string> types;
  std::vector<std::string> kernels;
  ChoiceOptions choice;
  std::string fill;  ///< "" is normal, or what a suite says
  std::string rotate = "auto";
  std::string prepared;
  std::uint64_t seed = 1;
  std::optional<double> seconds;
  std::int64_t runs = 5;
  std::string suite;
  std::vector<std::string> rivals;
  std::string output;
  bool json = false;
};

/// Bytes that push an operand out of every cache, in a fair share of the memory.
std::int64_t beyond_the_caches(Memory memory) {
  if (memory == Memory::device) return std::int64_t{256} << 20;  // no GPU's cache has as much
  const std::int64_t last_cache = std::max<std::int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
  const std::int64_t wanted = std::clamp<std::int64_t>(2 * last_cache, std::int64_t{64} << 20, std::int64_t{1} << 30);
  return std::min(wanted, available_memory() / 4);
}

void require_rotation(const Options& options) {
  const bool is_suite = !options.suite.empty();
  if (options.rotate != "auto" && options.rotate != "on" && (options.rotate != "off" || is_suite))
    fail(Exit::bad_usage, "--rotate {}: expected {}", options.rotate, is_suite ? "auto or on" : "auto, on or off");
}

std::int64_t copies_for(const Options& options, const GemmDescription& d, Memory memory) {
  constexpr std::int64_t vector_like = 16;
  constexpr std::int64_t most_copies = 4096;
  const bool rotate = options.rotate == "on" || (options.rotate == "auto" && std::min({d.m, d.n, d.k}) <= vector_like);
  if (!rotate) return 1;
  const std::int64_t bytes = operand_bytes(d);
  return std::clamp<std::int64_t>(beyond_the_caches(memory) / bytes + 1, 2, most_copies);
}

PreparedInputs prepared_inputs(const std::string& which) {
  if (which.find_first_not_of("ab") != std::string::npos || which.size() > 2 || which == "aa" || which == "bb")
    fail(Exit::bad_usage, "--prepared {}: expected a, b or ab", which);
  return {which.find('a') != std::string::npos, which.find('b') != std::string::npos};
}

bool all_kernels(const Options& options) { return std::ranges::find(options.kernels, "all") != options.kernels.end(); }

std::vector<std::string> kernels_for(const Options& options, GemmTypes types) {
  if (options.kernels.empty()) return {""};
  if (!all_kernels(options)) return options.kernels;
  if (options.kernels.size() > 1) fail(Exit::bad_usage, "--kernel all takes every kernel; expected no other beside it");
  require_one_backends_device(options.choice);
  std::vector<std::string> names;
  for (const KernelInfo& kernel : kernels())
    if (kernel.available && std::find(kernel.types.begin(), kernel.types.end(), types) != kernel.types.end() &&
        is_of_backend(kernel, options.choice.backend))
      names.push_back(kernel.name);
  return names;
}

void require_seconds(const Options& options) {
  constexpr double most_seconds = 1e6;
  const double seconds = options.seconds.value_or(0);
  if (!(seconds >= 0 && seconds <= most_seconds))
    fail(Exit::bad_usage, "--seconds {}: expected 0 to {}", seconds, most_seconds);
}

std::vector<MeasurementRequest> requests_for(const Options& options) {
  std::vector<MeasurementRequest> requests;
  const double seconds = options.seconds.value_or(1);
  if (options.runs < 1 || options.runs > 1000000)
    fail(Exit::bad_usage, "--runs {}: expected 1 to 1000000", options.runs);
  for (const std::string& type : options.types) {
    const GemmTypes types = parse_types(type);
    for (const std::string& kernel : kernels_for(options, types)) {
      MeasurementRequest request;
      request.description = describe(options.sizes, types);
      ChoiceOptions choice = options.choice;
      choice.kernel = kernel;
      request.options = measured_options(choice);
      request.prepared = prepared_inputs(options.prepared);
      request.limits = {.warm_up_seconds = std::min(0.05, seconds),
                        .total_seconds = seconds,
                        .least_runs = static_cast<int>(options.runs),
                        .most_runs = 1000000};
      requests.push_back(request);
    }
  }
  return requests;
}

void print_text(const std::vector<Measurement>& rows) {
  const GemmDescription& d = rows.front().description;
  print_result("C ({} x {}) = A ({} x {}) * B ({} x {}), batch {}\n\n", d.m, d.n, d.m, d.k, d.k, d.n, d.batch_count);
  Table table({"kernel", "type", "median", "min", "spread", "first call", "copied", "GFLOP/s", "of peak", "error/u",
               "norm", "x bound"});
  for (const Measurement& row : rows)
    table.add({row.summary.kernel, to_string(row.description.types), seconds_text(row.timing.median_seconds),
               seconds_text(row.timing.min_seconds), percent_text(row.timing.spread),
               seconds_text(row.timing.first_call_seconds),
               row.seconds_with_copies ? seconds_text(*row.seconds_with_copies) : "-",
               number_text(row.operations_per_second * 1e-9),
               row.fraction_of_peak ? percent_text(*row.fraction_of_peak) : "-", number_text(row.error.error_in_u),
               error_text(row.error.norm_error),
               row.error.passed ? number_text(row.error.error_over_bound) : "FAILED"});
  table.align_left({1});
  print_result("{}", table.text());
  for (const Measurement& row : rows) {
    std::string counts;
    for (std::size_t i = 0; i < row.path_counts.size(); ++i)
      counts += fmt::format("{} {} {} by {}", i == 0 ? ":" : ",", row.path_counts[i], row.summary.paths[i].counts,
                            row.summary.paths[i].name);
    if (!counts.empty()) print_result("{}{}\n", row.summary.kernel, counts);
  }
  for (const Measurement& row : rows)
    if (!row.error.passed) print_result("{} FAILED: {}\n", row.summary.kernel, row.error.failure);
}

void print_rows_json(const std::vector<Measurement>& rows, const std::vector<std::int64_t>& copies) {
  Json json = document("bench");
  json["device"] = device_name(rows.front());
  json["results"] = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Json row = row_json(rows[i]);
    row["operand_copies"] = copies[i];
    json["results"].push_back(std::move(row));
  }
  print_json(json);
}

/// What the command line gave.
struct Given {
  std::array<const Option*, 3> sizes;
  const Option* accuracy;

  [[nodiscard]] std::ptrdiff_t size_count() const {
    return std::ranges::count_if(sizes, [](const Option* size) { return size->count() > 0; });
  }
};

Exit bench_suite(const Options& options, const Given& given) {
  if (given.size_count() > 0)
    fail(Exit::bad_usage, "--suite has sizes of its own; expected no --m, --n, --k beside it");
  require_seconds(options);
  require_rotation(options);
  if (!options.fill.empty()) (void)parse_fill(options.fill);
  (void)prepared_inputs(options.prepared);
  for (const std::string& kernel : options.kernels)
    if (kernel != "all") require_known_kernel(kernel);
  SuiteOptions suite{.file = options.suite,
                     .output = options.output,
                     .rivals = options.rivals,
                     .types = options.types,
                     .accuracy = given.accuracy->count() > 0 ? options.choice.accuracy : "",
                     .kernels = options.kernels,
                     .choice = options.choice,
                     .fill = options.fill,
                     .prepared = options.prepared,
                     .rotates = options.rotate == "on",
                     .json = options.json};
  suite.seconds = options.seconds.value_or(suite.seconds);
  return run_suite(suite);
}

Exit bench(Options options, const Given& given) {
  if (given.size_count() < 3) fail(Exit::bad_usage, "--m, --n and --k are required, or --suite FILE");
  if (!options.rivals.empty() || !options.output.empty())
    fail(Exit::bad_usage, "--rivals and --output are of --suite FILE; expected it beside them");
  if (options.types.empty()) options.types = {"f32"};
  require_seconds(options);
  require_rotation(options);
  const verification::Fill fill = options.fill.empty() ? verification::Fill::normal : parse_fill(options.fill);
  require_work(options.sizes);
  const std::vector<MeasurementRequest> requests = requests_for(options);
  double seconds = 0;
  for (const MeasurementRequest& request : requests) {
    require_operand_memory(request.description);
    seconds += expected_seconds(request);
  }
  announce_cost("this benchmark", seconds);
  PeakMeter peaks(static_cast<int>(options.choice.threads));
  std::vector<Measurement> rows;
  std::vector<std::int64_t> copies;
  bool refused_by_name = false;
  Progress progress;
  for (const MeasurementRequest& request : requests) {
    progress.show(fmt::format("{} ({} of {})", request.options.kernel, rows.size() + 1, requests.size()));
    copies.push_back(copies_for(options, request.description, request.options.memory));
    Operands operands(request.description, fill, options.seed, copies.back());
    Result<Measurement> measured = measure_kernel(request, operands, peaks);
    const StatusCode code = measured.status().code();
    if (requests.size() > 1 && (code == StatusCode::unsupported || code == StatusCode::device_unavailable)) {
      progress.clear();
      note("exactile: not run: {}", measured.status().message());
      copies.pop_back();
      refused_by_name = refused_by_name || !all_kernels(options);
      continue;
    }
    rows.push_back(require(std::move(measured)));
  }
  progress.clear();
  if (requests.empty())
    fail_for_want_of_kernels(describe(options.sizes, parse_types(options.types.front())), options.choice);
  if (rows.empty()) fail(Exit::bad_usage, "no kernel can run this product");
  options.json ? print_rows_json(rows, copies) : print_text(rows);
  const bool passed = std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.error.passed; });
  if (!passed) return Exit::check_failed;
  return refused_by_name ? Exit::bad_usage : Exit::done;
}

}  // namespace

Action add_bench(CommandLine& command) {
  const auto options = std::make_shared<Options>();
  add_size_options(command, options->sizes, false);
  command.add_option("--suite", options->suite, "Time the products of this file, beside other libraries")
      ->type_name("FILE");
  command
      .add_option("--rivals", options->rivals,
                  "Of a suite: auto (every one that is found), own, none, NAME=PATH[,VAR=VALUE]")
      ->type_name("WHICH");
  command.add_option("-o,--output", options->output, "Of a suite: keep the results here, and go on from what is there")
      ->type_name("FILE");
  command.add_option("--type", options->types, "Element type (default f32): " + type_names())
      ->type_name("T")
      ->delimiter(',');
  add_choice_options(command, options->choice);
  add_memory_option(command, options->choice);
  command.remove_option(command.get_option("--kernel"));
  command.add_option("--kernel", options->kernels, "Time these kernels, or all (default: the planner's choice)")
      ->type_name("NAME")
      ->delimiter(',');
  command.add_option("--fill", options->fill, "What A and B hold: normal (default), uniform, ...")->type_name("NAME");
  add_seed(command, options->seed);
  command.add_option("--seconds", options->seconds, "Time each kernel for this long (default 1; of a suite 0.5)")
      ->type_name("S");
  add_integer(command, "--runs", options->runs, "At least this many timed calls (default 5)");
  command.add_option("--rotate", options->rotate, "Copies of the operands beyond the caches: auto, on, off")
      ->type_name("WHEN");
  command
      .add_option("--prepared", options->prepared, "Operands that are prepared once, before the clock runs: a, b or ab")
      ->type_name("WHICH");
  command.add_flag("--json", options->json, "As JSON (exactile.bench/1; of a suite exactile.results/1)");
  command.footer(footer);
  const Given given{{command.get_option("--m"), command.get_option("--n"), command.get_option("--k")},
                    command.get_option("--accuracy")};
  return [options, given] { return options->suite.empty() ? bench(*options, given) : bench_suite(*options, given); };
}

}  // namespace exactile::program
