// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "exactile/devices.hpp"
#include "exactile/tuning.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "tuning/table/table.hpp"
#include "tuning_run.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(Random candidates first, then neighbours of the best ones. Every candidate is verified before it is timed, and
filed when it is done: an interrupted search loses nothing, and the next one goes on from there. At the end of a
search of 20 seconds or more the best ones are timed again, turn by turn. Plans use the best row of their
kernel, types, shape class, device and driver; `exactile explain` says which. The time is shared by all
searches. For CUDA all configurations of all kernels are timed on random products, and the coefficients of the
cost model fitted to them; processes started later use these, and rows of a GPU that exactile does not know are
worth sending (CONTRIBUTING.md). Of the options, --time-limit, --db, --device and --seed count there. On the CPU
the cache blocks MC, KC and NC are tuned, for the number of threads in use; with --costs, the rates by which the
planner estimates all kernels' times are measured and fitted in the same way as CUDA's.

Classes of shapes, by C: thin (a side of 128 or less), small (up to 640 x 640), medium (up to 1536 x 1536),
large.)";

struct Options {
  std::string backend = "opencl";
  std::string kernel;
  std::vector<std::string> types = {"f32"};
  std::vector<std::string> classes = {"thin", "small", "medium", "large"};
  std::string time_limit = "10m";
  std::string file;
  bool costs = false;
  std::int64_t device = 0;
  std::int64_t candidates = TuningRequest::as_many_as_time_allows;
  std::uint64_t seed = 1;
};

/// "90s", "10m", "1h" or plain seconds.
double parse_seconds(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || factor == 0 || !(value > 0) || value > 1e6)
    fail(Exit::bad_usage, "--time-limit {}: expected a time such as 90s, 10m or 1h", text);
  return value * factor;
}

/// The one named; or all the backend's that can only be measured, and of those with parameters its first choice for
/// large products.
std::vector<std::string> kernels_for(const Options& options, GemmTypes types, int device) {
  if (!options.kernel.empty()) return {options.kernel};
  const Backend backend = backend_named(options.backend);
  std::vector<std::string> names;
  bool has_parameters = false;
  for (const KernelInfo& info : kernels()) {
    if (info.backend != backend) continue;
    const Result<TuningTarget> target = tuning_target(info.name, types, device);
    if (target.status().code() == StatusCode::invalid_argument) require(target.status());
    if (!target.ok() || (has_parameters && !target.value().space.empty())) continue;
    has_parameters = has_parameters || !target.value().space.empty();
    names.push_back(info.name);
  }
  if (!names.empty()) return names;
  for (const DeviceInfo& info : devices())
    if (info.backend == backend && !info.available)
      fail(Exit::trouble, "backend '{}': {}", options.backend, info.reason);
  fail(Exit::bad_usage, "backend '{}' has no kernel that can be tuned for {}", options.backend, to_string(types));
}

void check_classes(const Options& options) {
  constexpr std::array<std::string_view, 4> known{"thin", "small", "medium", "large"};
  for (const std::string& name : options.classes)
    if (std::ranges::find(known, name) == known.end())
      fail(Exit::bad_usage, "--shape-class {}: is not known; there are thin, small, medium, large", name);
}

std::vector<TuningRequest> requests_for(const Options& options, const std::string& file) {
  std::vector<TuningRequest> requests;
  ChoiceOptions choice;
  choice.device = options.device;
  const int device = gemm_options(choice).device;
  for (const std::string& type : options.types) {
    const GemmTypes types = parse_types(type);
    const std::vector<std::string> names = kernels_for(options, types, device);
    for (const std::string& shape_class : options.classes)
      for (const std::string& name : names)
        requests.push_back({.kernel = name,
                            .types = types,
                            .shape_class = shape_class,
                            .file = file,
                            .device = device,
                            .most_candidates = options.candidates,
                            .seed = options.seed});
  }
  return requests;
}

bool is_of_cuda(const std::string& kernel) {
  const auto is_it = [&](const KernelInfo& info) { return info.name == kernel && info.backend == Backend::cuda; };
  return !kernel.empty() && std::ranges::any_of(kernels(), is_it);
}

/// A backend whose cost model is measured as a whole.
Exit measure(const Options& options, Backend backend) {
  ChoiceOptions choice;
  choice.device = options.device;
  Progress progress;
  const std::string named = options.file.empty() ? "the user's file" : options.file;
  set_interruption_note(fmt::format("the rows of the types that were done are kept in {}", named));
  const Result<Measurements> measured =
      measure_device(backend, {.device = gemm_options(choice).device,
                               .seconds = parse_seconds(options.time_limit),
                               .seed = options.seed,
                               .file = options.file,
                               .goes_on = [&](double share) {
                                 progress.show(fmt::format("measuring: {:.0f} %", 100 * std::min(1.0, share)));
                                 return true;
                               }});
  progress.clear();
  set_interruption_note("");
  require(measured.status());
  Table table({"type", "products", "choice / fastest, mean", "worst"});
  for (const ChoiceQuality& quality : measured.value().choices)
    table.add({to_string(quality.types), std::to_string(quality.products), fmt::format("{:.3f}", quality.mean),
               fmt::format("{:.2f}", quality.worst)});
  table.align_left({0});
  print_result("{}\nkept in {}\n", table.text(), measured.value().file);
  return Exit::done;
}

Exit tune(const Options& options) {
  check_classes(options);
  const Backend backend = is_of_cuda(options.kernel) ? Backend::cuda : backend_named(options.backend);
  if (options.costs || backend == Backend::cuda) return measure(options, backend);
  if (options.candidates < 1) fail(Exit::bad_usage, "--candidates {}: expected 1 or more", options.candidates);
  const double limit = parse_seconds(options.time_limit);
  const std::string file = options.file.empty() ? tuning::user_file() : options.file;
  if (file.empty()) fail(Exit::bad_usage, "neither XDG_CACHE_HOME nor HOME is set; say --db FILE");
  require(tuning::check_file(file));
  if (const int lines = tuning::read_file(file).unreadable_lines; lines > 0)
    note("exactile: {} lines of {} are damaged or foreign and are left out", lines, file);
  Table table({"kernel", "type", "class", "GFLOP/s", "before", "tried", "failed", "known", "parameters"});
  bool found_all = true;
  std::size_t without_time = 0;
  std::vector<std::string> refusals;
  std::vector<TuningRequest> requests = requests_for(options, file);
  set_interruption_note(fmt::format("the rows found so far are kept in {}", printable(file)));
  const auto begin = std::chrono::steady_clock::now();
  auto left = static_cast<double>(requests.size());
  for (TuningRequest& request : requests) {
    // What a short search leaves over is for those behind it.
    const double used = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    request.seconds = (limit - used) / left--;
    const TuningOutcome outcome = run_tuning(request);
    if (!outcome.refusal.empty()) {
      refusals.push_back(fmt::format("exactile: {} does no {} products of class {}: {}", request.kernel,
                                     to_string(request.types), request.shape_class, outcome.refusal));
      continue;
    }
    if (outcome.tried == 0 && outcome.failed == 0 && outcome.known == 0) {
      note("exactile: {} {} {}: the time limit came before the first candidate", request.kernel,
           to_string(request.types), request.shape_class);
      ++without_time;
      continue;
    }
    found_all = found_all && outcome.rate > 0;
    table.add({request.kernel, to_string(request.types), request.shape_class, number_text(outcome.rate * 1e-9),
               outcome.before > 0 ? number_text(outcome.before * 1e-9) : "-", std::to_string(outcome.tried),
               std::to_string(outcome.failed), std::to_string(outcome.known), outcome.parameters});
  }
  // Of many kernels some always refuse; that is worth a line only where it was the one asked for, or nothing was left.
  const bool refused_all = refusals.size() == requests.size();
  if (refused_all || !options.kernel.empty())
    for (const std::string& refusal : refusals) note("{}", refusal);
  if (refused_all) fail(Exit::bad_usage, "no kernel does such products");
  if (refusals.size() + without_time == requests.size())
    fail(Exit::bad_usage, "--time-limit {}: no candidate was tried; expected more time", options.time_limit);
  table.align_left({1, 2, 8});
  print_result("{}\nkept in {}\n", table.text(), printable(file));
  return found_all ? Exit::done : Exit::check_failed;
}

}  // namespace

Action add_tune(CommandLine& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("--backend", options->backend, "Tune this backend's kernel (default opencl)")->type_name("NAME");
  command
      .add_option("--kernel", options->kernel,
                  "Tune this kernel (default: the backend's first that has parameters, and all that have none)")
      ->type_name("NAME");
  command.add_option("--type", options->types, "Element types (default f32): " + type_names())
      ->type_name("T")
      ->delimiter(',');
  command.add_option("--shape-class", options->classes, "thin, small, medium, large (default: all of them)")
      ->type_name("NAME")
      ->delimiter(',');
  command.add_option("--time-limit", options->time_limit, "For everything together (default 10m)")->type_name("TIME");
  command.add_flag("--costs", options->costs, "Measure the rates of the backend's cost estimates (of CUDA always)");
  add_integer(command, "--candidates", options->candidates, "Stop each search after so many (default: time decides)");
  command
      .add_option("--db", options->file,
                  "Where rows are kept (default tuning.tsv, of CUDA cuda.tsv, in $XDG_CACHE_HOME/exactile)")
      ->type_name("FILE");
  add_integer(command, "--device", options->device, "Which of the backend's devices (default 0)");
  add_seed(command, options->seed);
  command.footer(footer);
  return [options] { return tune(*options); };
}

}  // namespace exactile::program
