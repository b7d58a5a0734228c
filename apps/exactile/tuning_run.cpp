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

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

Backend backend_of(const std::string& kernel) {
  for (const KernelInfo& info : kernels())
    if (info.name == kernel) return info.backend;
  return Backend::automatic;
}

/// Operands of the class's typical product where the kernel takes them, filled once for the whole search.
class Bench {
 public:
  Bench(const TuningRequest& request, const TuningTarget& target) {
    const Result<Context> context = Context::make(backend_of(request.kernel), request.device);
    if (context.ok())
      context_ = context.value();
    else if (context.status().code() != StatusCode::unsupported)
      require(context.status());
    const tuning::Shape shape = tuning::typical_shape(request.shape_class, target.is_cpu);
    description_ = {.types = request.types,
                    .m = shape.m,
                    .n = shape.n,
                    .k = shape.k,
                    .a = {shape.k, 1},
                    .b = {shape.n, 1},
                    .c = {shape.n, 1}};
    a_ = filled(shape.m, shape.k, verification::Part::a);
    b_ = filled(shape.k, shape.n, verification::Part::b);
    c_.host.resize(static_cast<std::size_t>(shape.m * shape.n * size_in_bytes(request.types.output)));
    to_device(c_);
  }

  [[nodiscard]] const GemmDescription& description() const { return description_; }
  [[nodiscard]] GemmOptions options(const TuningRequest& request, const std::string& parameters) const {
    return {.kernel = request.kernel,
            .memory = context_ ? Memory::device : Memory::host,
            .device = request.device,
            .parameters = parameters};
  }

  /// Operations per second; 0 where a run fails. Runs that are hopelessly behind `best` are not repeated.
  [[nodiscard]] double rate(const GemmOptions& options, double best) {
    const Result<Plan> plan = Plan::make(description_, options);
    if (!plan.ok()) return 0;
    const double operations = operation_count(description_.types, description_.m, description_.n, description_.k);
    if (!time(plan.value()).ok()) return 0;  // compiles
    std::vector<double> times;
    const auto begin = Clock::now();
    constexpr double enough_seconds = 0.15;
    constexpr std::size_t enough_runs = 200;
    while (times.empty() || (seconds_since(begin) < enough_seconds && times.size() < enough_runs)) {
      const Result<double> once = time(plan.value());
      if (!once.ok() || !(once.value() > 0)) return 0;
      times.push_back(once.value());
      if (operations / once.value() < best / 2) break;
    }
    return operations / median(times);
  }

 private:
  struct Matrix {
    std::vector<std::byte> host;  ///< empty where it lies on the device
    std::optional<DeviceMemory> device;
    [[nodiscard]] void* first() { return device ? device->at() : host.data(); }
  };

  [[nodiscard]] Result<double> time(const Plan& plan) {
    const GemmArguments arguments{.a = a_.first(), .b = b_.first(), .c = c_.first()};
    if (context_) return context_->time([&] { return plan.run(arguments, context_->execution()); });
    const auto begin = Clock::now();
    if (Status s = plan.run(arguments); !s.ok()) return s;
    return seconds_since(begin);
  }
  [[nodiscard]] Matrix filled(std::int64_t rows, std::int64_t columns, verification::Part part) {
    const bool of_b = part == verification::Part::b;
    const ElementType type = of_b ? description_.types.input_b : description_.types.input;
    Matrix matrix;
    matrix.host.resize(static_cast<std::size_t>(rows * columns * size_in_bytes(type)));
    verification::fill(verification::Fill::normal, 1, type, rows, columns, {columns, 1}, 1, matrix.host.data(), part);
    to_device(matrix);
    return matrix;
  }
  void to_device(Matrix& matrix) {
    if (!context_) return;
    matrix.device = require(context_->allocate(std::ssize(matrix.host)));
    require(matrix.device->upload(matrix.host.data(), std::ssize(matrix.host)));
    matrix.host = {};
  }

  std::optional<Context> context_;  ///< none where the backend computes in host memory
  GemmDescription description_;
  Matrix a_, b_, c_;
};

/// A product that leaves remainders on every side, checked by all oracles. Small, because a candidate must not take
/// longer to check than to time; large enough for several tiles and K steps.
bool is_right(const TuningRequest& request, const GemmOptions& options) {
  constexpr std::int64_t m = 301;
  constexpr std::int64_t n = 277;
  constexpr std::int64_t k = 149;
  const verification::Case test{
      .description = {.types = request.types, .m = m, .n = n, .k = k, .a = {k, 1}, .b = {n, 1}, .c = {n, 1}},
      .options = options};
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
  const Result<Plan> plan = Plan::make(bench.description(), bench.options(request, ""));
  if (!plan.ok()) return {};
  const std::string blocking = plan.value().summary().blocking;
  return blocking.substr(0, blocking.find(" ("));
}

std::string why_refused(const Bench& bench, const TuningRequest& request) {
  const Result<Plan> plan = Plan::make(bench.description(), bench.options(request, ""));
  return plan.ok() ? "no parameters fit" : refusal(plan.status(), request.kernel);
}

void file_row(const TuningRequest& request, const tuning::Row& row) {
  const SignalBlock signals_wait;
  require(tuning::add_row(request.file, row));
}

constexpr std::size_t finalists = 6;
constexpr int rounds = 3;
constexpr double finalist_share = 0.85;  ///< of the best rate
/// About what the final takes, where it is worth its time.
double seconds_of_final(double seconds) { return seconds < 20 ? 0 : 4; }

/// The best ones again, turn by turn: each was timed at a time of its own, and a device is not always as fast, nor
/// always left alone.
void hold_final(const TuningRequest& request, const tuning::Key& key, Bench& bench, tuning::Search& search) {
  const std::vector<tuning::Parameters> all = search.leaders(finalists, finalist_share);
  if (all.size() < 2) return;
  std::vector<std::vector<double>> rates(all.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i)
      rates[i].push_back(bench.rate(bench.options(request, all[i].to_string()), 0));
  for (std::size_t i = 0; i < all.size(); ++i) {
    // A run that failed says nothing of one that was right before.
    if (std::ranges::find(rates[i], 0.0) != rates[i].end()) continue;
    const double rate = median(rates[i]);
    search.report(all[i], rate);
    file_row(request, {key, all[i], rate});
  }
}

}  // namespace

TuningOutcome run_tuning(const TuningRequest& request) {
  const auto begin = Clock::now();
  const TuningTarget target = require(tuning_target(request.kernel, request.types, request.device));
  Bench bench(request, target);
  const auto is_legal = [&](const tuning::Parameters& p) {
    return Plan::make(bench.description(), bench.options(request, p.to_string())).ok();
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
  if (target.space.empty() && !is_legal({})) {
    outcome.refusal = why_refused(bench, request);
    return outcome;
  }
  if (!target.space.empty()) outcome.parameters_before = parameters_in_use(bench, request);
  if (const auto parsed = tuning::Parameters::parse(outcome.parameters_before); parsed && !parsed->empty()) {
    outcome.before = bench.rate(bench.options(request, ""), 0);
    search.suggest(*parsed);
  }

  Progress progress;
  const double final_seconds = seconds_of_final(request.seconds);
  const auto goes_on = [&] {
    return seconds_since(begin) < request.seconds - final_seconds && outcome.tried < request.most_candidates;
  };
  // The first is asked for whatever the clock says: where there is none the kernel refuses, and lack of time is no
  // reason.
  std::optional<tuning::Parameters> candidate = search.next();
  if (!candidate && outcome.known == 0) outcome.refusal = why_refused(bench, request);
  for (; candidate && goes_on(); candidate = search.next()) {
    const std::string text = candidate->to_string();
    progress.show(fmt::format("{} {} {}: best {} GFLOP/s, candidate {}", request.kernel, to_string(request.types),
                              request.shape_class, number_text(search.best_rate() * 1e-9), search.reported() + 1));
    const GemmOptions options = bench.options(request, text);
    const double rate = is_right(request, options) ? bench.rate(options, search.best_rate()) : 0;
    ++outcome.tried;
    if (!(rate > 0)) ++outcome.failed;
    search.report(*candidate, rate);
    file_row(request, {key, *candidate, rate});
  }
  if (final_seconds > 0) hold_final(request, key, bench, search);
  progress.clear();
  outcome.parameters = search.best().to_string();
  outcome.rate = search.best_rate();
  return outcome;
}

}  // namespace exactile::program
