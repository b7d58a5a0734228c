// SPDX-License-Identifier: Apache-2.0
#include "tuning_run.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "exactile/context.hpp"
#include "exactile/devices.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "measure/stopwatch.hpp"
#include "search/search.hpp"
#include "terminal.hpp"
#include "tuning/table/table.hpp"
#include "units.hpp"
#include "verification/verification.hpp"

namespace exactile::program {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string backend_of(const std::string& kernel) {
  for (const KernelInfo& info : kernels())
    if (info.name == kernel) return info.backend;
  return {};
}

/// Operands of the class's typical product in the device's memory, filled once for the whole search.
class Bench {
 public:
  Bench(const TuningRequest& request, bool is_cpu)
      : context_(require(Context::make(backend_of(request.kernel), request.device))) {
    const tuning::Shape shape = tuning::typical_shape(request.shape_class, is_cpu);
    description_ = {.types = request.types,
                    .m = shape.m,
                    .n = shape.n,
                    .k = shape.k,
                    .a = {shape.k, 1},
                    .b = {shape.n, 1},
                    .c = {shape.n, 1}};
    a_.emplace(filled(shape.m, shape.k, verification::Part::a));
    b_.emplace(filled(shape.k, shape.n, verification::Part::b));
    c_.emplace(require(context_.allocate(shape.m * shape.n * size_in_bytes(request.types.output))));
  }

  [[nodiscard]] const GemmDescription& description() const { return description_; }

  /// Operations per second; 0 where a run fails. Runs that are hopelessly behind `best` are not repeated.
  [[nodiscard]] double rate(const GemmOptions& options, double best) {
    const Result<Plan> plan = Plan::make(description_, options);
    if (!plan.ok()) return 0;
    const double operations = operation_count(description_.types, description_.m, description_.n, description_.k);
    const auto enqueue = [&] {
      return plan.value().run({.a = a_->at(), .b = b_->at(), .c = c_->at()}, context_.execution());
    };
    if (!context_.time(enqueue).ok()) return 0;  // compiles
    std::vector<double> times;
    const auto begin = Clock::now();
    constexpr double enough_seconds = 0.15;
    constexpr std::size_t enough_runs = 200;
    while (times.empty() || (seconds_since(begin) < enough_seconds && times.size() < enough_runs)) {
      const Result<double> once = context_.time(enqueue);
      if (!once.ok() || !(once.value() > 0)) return 0;
      times.push_back(once.value());
      if (operations / once.value() < best / 2) break;
    }
    std::ranges::sort(times);
    return operations / times[times.size() / 2];
  }

 private:
  [[nodiscard]] DeviceMemory filled(std::int64_t rows, std::int64_t columns, verification::Part part) {
    const ElementType type = description_.types.input;
    std::vector<std::byte> elements(static_cast<std::size_t>(rows * columns * size_in_bytes(type)));
    verification::fill(verification::Fill::normal, 1, type, rows, columns, {columns, 1}, 1, elements.data(), part);
    DeviceMemory memory = require(context_.allocate(std::ssize(elements)));
    require(memory.upload(elements.data(), std::ssize(elements)));
    return memory;
  }

  Context context_;
  GemmDescription description_;
  std::optional<DeviceMemory> a_, b_, c_;
};

GemmOptions options_for(const TuningRequest& request, const std::string& parameters) {
  return {.kernel = request.kernel, .memory = Memory::device, .device = request.device, .parameters = parameters};
}

/// A product that leaves remainders on every side, checked by all oracles. Small, because a candidate must not take
/// longer to check than to time; large enough for several tiles and K steps.
bool is_right(const TuningRequest& request, const std::string& parameters) {
  constexpr std::int64_t m = 301;
  constexpr std::int64_t n = 277;
  constexpr std::int64_t k = 149;
  const verification::Case test{
      .description = {.types = request.types, .m = m, .n = n, .k = k, .a = {k, 1}, .b = {n, 1}, .c = {n, 1}},
      .options = options_for(request, parameters)};
  const Result<verification::ErrorReport> report = verification::run_case(test);
  return report.ok() && report.value().passed;
}

tuning::Space space_of(const TuningTarget& target) {
  tuning::Space space;
  for (const ParameterRange& range : target.space) space.push_back({range.name, range.values});
  return space;
}

/// What stands in front of " (where it comes from)" in a plan's blocking.
std::string parameters_in_use(const Bench& bench, const TuningRequest& request) {
  const Result<Plan> plan = Plan::make(bench.description(), options_for(request, ""));
  if (!plan.ok()) return {};
  const std::string blocking = plan.value().summary().blocking;
  return blocking.substr(0, blocking.find(" ("));
}

void file_row(const TuningRequest& request, const tuning::Row& row) {
  const SignalBlock signals_wait;
  require(tuning::add_row(request.file, row));
}

}  // namespace

TuningOutcome run_tuning(const TuningRequest& request) {
  const auto begin = Clock::now();
  const TuningTarget target = require(tuning_target(request.kernel, request.types, request.device));
  Bench bench(request, target.is_cpu);
  const auto is_legal = [&](const tuning::Parameters& p) {
    return Plan::make(bench.description(), options_for(request, p.to_string())).ok();
  };
  tuning::Search search(space_of(target), is_legal, request.seed);
  const tuning::Key key{request.kernel,      target.version, to_string(request.types),
                        request.shape_class, target.device,  target.driver};

  TuningOutcome outcome;
  for (const tuning::Row& row : tuning::read_file(request.file).rows)
    if (row.key == key) {
      search.report(row.parameters, row.rate);
      ++outcome.known;
    }
  outcome.parameters_before = parameters_in_use(bench, request);
  if (const auto parsed = tuning::Parameters::parse(outcome.parameters_before); parsed && !parsed->empty()) {
    outcome.before = bench.rate(options_for(request, ""), 0);
    search.suggest(*parsed);
  }

  Progress progress;
  while (seconds_since(begin) < request.seconds &&
         (request.most_candidates == 0 || outcome.tried < request.most_candidates)) {
    const auto candidate = search.next();
    if (!candidate) break;
    const std::string text = candidate->to_string();
    progress.show(fmt::format("{} {} {}: best {} GFLOP/s, candidate {}", request.kernel, to_string(request.types),
                              request.shape_class, number_text(search.best_rate() * 1e-9), search.reported() + 1));
    const double rate = is_right(request, text) ? bench.rate(options_for(request, text), search.best_rate()) : 0;
    ++outcome.tried;
    if (!(rate > 0)) ++outcome.failed;
    search.report(*candidate, rate);
    file_row(request, {key, *candidate, rate});
  }
  progress.clear();
  outcome.parameters = search.best().to_string();
  outcome.rate = search.best_rate();
  return outcome;
}

}  // namespace exactile::program
