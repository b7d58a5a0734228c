// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>

#include "commit.hpp"
#include "comparison/ours.hpp"
#include "comparison/rivals.hpp"
#include "exactile/context.hpp"
#include "exactile/devices.hpp"
#include "interrupt.hpp"
#include "measure/bandwidth.hpp"
#include "measurement.hpp"
#include "memory.hpp"
#include "results_file.hpp"
#include "suite_file.hpp"
#include "suite_report.hpp"
#include "terminal.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

DeviceInfo device_of(Backend backend, int number) {
  int index = 0;
  for (const DeviceInfo& device : devices())
    if (device.backend == backend && index++ == number) return device;
  return {};
}

/// All that runs, from the options on.
class SuiteRun {
 public:
  explicit SuiteRun(const SuiteOptions& options)
      : options_(options),
        gemm_(measured_options(options.choice)),
        backend_(gemm_.backend == Backend::automatic ? Backend::cpu : gemm_.backend),
        threads_(gemm_.threads == 0 ? default_threads() : gemm_.threads),
        suite_(read_suite(options.file, options.types, options.accuracy, options.fill, gemm_.reproducible)),
        peaks_(threads_) {
    require_usable(gemm_);  // before rivals are loaded: cuBLASXt ends the process where there is no driver
    if (gemm_.memory == Memory::device) context_ = require(Context::make(gemm_.backend, gemm_.device));
    add_ours();
    add_rivals();
    limits_.seconds = options.seconds;
    limits_.rotates = options.rotates;
    constexpr double until_workers_sleep = 0.5;
    constexpr double until_the_clock_settles = 0.3;
    if (context_)
      limits_.settling_seconds = std::min(until_the_clock_settles, options.seconds);
    else if (threads_ > 1)
      limits_.longest_pause_seconds = until_workers_sleep;
  }

  Exit run() {
    ResultsFile results(options_.output, head());
    const std::vector<double> costs = expected_costs(results);
    double left = 0;
    for (const double cost : costs) left += cost;
    announce_cost("this suite", left);
    if (!options_.json) print_result("{}", suite_heading());
    Progress progress;
    const auto begin = std::chrono::steady_clock::now();
    double done = 0;
    for (std::size_t i = 0; i < suite_.products.size(); ++i) {
      const Json* known = results.find(row_of(suite_.products[i]));
      if (known == nullptr) {
        note_what_is_kept(results);
        // What the work so far took, beside what it was expected to.
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        const double pace = done > 0 ? spent.count() / done : 1;
        progress.show(fmt::format("{} ({} of {}), {} left", shape_text(suite_.products[i]), i + 1,
                                  suite_.products.size(), seconds_text(pace * (left - done))));
        std::optional<Json> row = measure(suite_.products[i]);
        progress.clear();
        done += costs[i];
        if (!row) continue;
        results.add(std::move(*row));
        known = &results.rows().back();
      }
      if (!options_.json) print_result("{}", suite_line(*known));
    }
    set_interruption_note("");
    if (options_.json)
      print_result("{}", results.text());
    else if (const std::string means = means_text(results.rows()); !means.empty())
      print_result("\n{}", means);
    return wrong_ ? Exit::check_failed : Exit::done;
  }

 private:
  /// Whether a device with memory of its own computes, wherever the operands lie.
  [[nodiscard]] bool on_gpu() const {
    return context_.has_value() || (backend_ != Backend::cpu && gemm_.memory == Memory::host);
  }
  [[nodiscard]] const Context* context() const { return context_ ? &*context_ : nullptr; }

  void enter(std::string name, std::unique_ptr<comparison::Contender> contender) {
    contender->set_threads(threads_);
    contenders_.push_back({std::move(name), std::move(contender)});
  }

  [[nodiscard]] comparison::OurOptions our_options() const {
    return {.backend = backend_,
            .kernel = {},
            .context = context(),
            .prepared_a = options_.prepared.find('a') != std::string::npos,
            .prepared_b = options_.prepared.find('b') != std::string::npos};
  }

  void add_ours() {
    comparison::OurOptions ours = our_options();
    enter("exactile", comparison::make_exactile(ours));
    const bool all = std::ranges::find(options_.kernels, "all") != options_.kernels.end();
    for (const KernelInfo& kernel : kernels()) {
      const bool is_wanted = all ? kernel.available && kernel.backend == ours.backend
                                 : std::ranges::find(options_.kernels, kernel.name) != options_.kernels.end();
      if (!is_wanted) continue;
      ours.kernel = kernel.name;
      enter("exactile:" + kernel.name, comparison::make_exactile(ours));
    }
  }

  void add_rivals() {
    for (const std::string& word : options_.rivals) {
      if (word == "none") continue;
      if (word == "own") {
        comparison::OurOptions own = our_options();
        own.promises_least = true;
        enter("exactile standard", comparison::make_exactile(own));
        continue;
      }
      if (word != "auto") {
        comparison::NamedContender rival = comparison::load_rival(word, backend_, context());
        enter(std::move(rival.name), std::move(rival.contender));
        continue;
      }
      comparison::FoundRivals found = comparison::find_rivals(backend_, context());
      if (!found.absent.empty()) note("exactile: not found: {}", fmt::join(found.absent, ", "));
      for (const std::string& broken : found.broken) note("exactile: cannot be used: {}", broken);
      for (comparison::NamedContender& rival : found.rivals) enter(std::move(rival.name), std::move(rival.contender));
    }
  }

  [[nodiscard]] Json software(const DeviceInfo& device) const {
    utsname system{};
    uname(&system);
    const std::string release = system.release;  // 6.1.0-28-amd64, of which 6.1 counts
    const std::size_t dot = release.find('.');
    const std::string series =
        release.substr(0, dot == std::string::npos ? dot : release.find_first_not_of("0123456789", dot + 1));
    Json software{{"compiler", __VERSION__}, {"system", fmt::format("{} {}", system.sysname, series)}};
    if (!on_gpu()) return software;
    software["driver"] = "unknown";
    for (const auto& [key, value] : device.properties)
      if (key.find("driver") != std::string::npos) software["driver"] = value;
    return software;
  }

  [[nodiscard]] Json head() {
    const DeviceInfo device = device_of(backend_, gemm_.device);
    Json head{{"schema", "exactile.results/1"}, {"family", suite_.name}};
    head["device"] = Json{{"name", device.name}, {"kind", on_gpu() ? "gpu" : "cpu"}};
    if (!on_gpu()) head["device"]["threads"] = threads_;
    head["software"] = software(device);
    head["contenders"] = Json::object();
    for (const comparison::NamedContender& contender : contenders_)
      head["contenders"][contender.name] = contender.contender->version();
    head["contenders"]["exactile"] = fmt::format(
        "{}{}{}", version(), commit.empty() ? "" : fmt::format(" at {}", commit), commit_is_edited ? ", edited" : "");
    head["commit"] = commit.empty() ? "0000000" : commit;
    head["date"] = today();
    head["operands"] = fmt::format("{}, row-major, in {} memory{}{}", fills_text(), context_ ? "device" : "host",
                                   options_.rotates ? ", rotating through sets that leave the caches" : "",
                                   options_.prepared.empty() ? "" : fmt::format(", {} prepared", options_.prepared));
    head["command"] = command_line();
    head["ceilings"] = ceilings();
    head["provenance"] = Json{{"kind", "measured"}};
    return head;
  }

  [[nodiscard]] std::string fills_text() const {
    if (!options_.fill.empty()) return options_.fill;
    const bool all_normal = std::ranges::all_of(
        suite_.products, [](const comparison::Product& product) { return product.fill == verification::Fill::normal; });
    return all_normal ? "normal" : "normal where a row names no other fill";
  }

  /// Of a roofline: the peak of each type, and how fast memory is read, or filled by a device.
  [[nodiscard]] Json ceilings() {
    Json gflops = Json::object();
    for (const comparison::Product& product : suite_.products)
      if (const auto peak = peaks_.peak(backend_, {product.type, product.output}, gemm_.device))
        gflops[to_string(product.types())] = *peak * 1e-9;
    Json ceilings{{"gflops", gflops}};
    if (context_)
      ceilings["gbytes_per_second"] = require(measure::fill_bandwidth(*context_)) * 1e-9;
    else if (!on_gpu())
      ceilings["gbytes_per_second"] = measure::read_bandwidth(threads_) * 1e-9;
    return ceilings;
  }

  /// Seconds of each product, 0 of one that is done: samples, warm-up and checks of every contender.
  [[nodiscard]] std::vector<double> expected_costs(const ResultsFile& results) const {
    std::vector<double> costs;
    for (const comparison::Product& product : suite_.products) {
      if (results.find(row_of(product)) != nullptr) {
        costs.push_back(0);
        continue;
      }
      GemmOptions options = gemm_;
      options.kernel.clear();
      const Result<Plan> plan = Plan::make(comparison::description_of(product), options);
      const double call = plan.ok() ? chosen_cost(plan.value().summary()) : 0;
      const double pause = limits_.longest_pause_seconds / 4;  // OpenBLAS's workers spin for a fifth of it
      const double one = std::max(limits_.seconds, limits_.least_rounds * call) + limits_.warm_up_seconds + 2 * call +
                         limits_.least_rounds * (limits_.settling_seconds + pause) + 0.1;
      costs.push_back(static_cast<double>(contenders_.size()) * one);
    }
    return costs;
  }

  void note_what_is_kept(const ResultsFile& results) const {
    if (options_.output.empty())
      set_interruption_note("nothing was kept; --output FILE keeps what is done");
    else
      set_interruption_note(fmt::format("{} products are kept in {}; the same command goes on from there",
                                        results.rows().size(), printable(options_.output)));
  }

  /// Nothing where no contender could be timed.
  std::optional<Json> measure(const comparison::Product& product) {
    Json row = row_of(product);
    if (on_gpu())
      row["memory"] = context_ ? "device" : "host, pageable";
    else
      row["threads"] = threads_;
    require_memory(product.bytes() * comparison::set_count(product, context(), options_.rotates),
                   shape_text(product) + ": the operands");
    const comparison::ComparisonResult outcome = comparison::compare(contenders_, product, limits_, context());
    bool any = false;
    for (const comparison::ContenderResult& result : outcome.results) {
      any = any || result.seconds.median > 0;
      if (result.error.empty()) continue;
      note("exactile: not timed: {} {} of {}: {}", shape_text(product), to_string(product.types()), result.name,
           result.error);
      wrong_ = wrong_ || is_ours(result.name);
    }
    if (!any) {
      note("exactile: not run: {}: no contender multiplies it", shape_text(product));
      return std::nullopt;
    }
    add_outcome(row, product, outcome, peaks_.peak(backend_, {product.type, product.output}, gemm_.device));
    return row;
  }

  const SuiteOptions& options_;
  GemmOptions gemm_;
  Backend backend_;  ///< that computes
  int threads_;
  Suite suite_;
  PeakMeter peaks_;
  std::optional<Context> context_;
  std::vector<comparison::NamedContender> contenders_;
  comparison::ComparisonLimits limits_;
  bool wrong_ = false;
};

}  // namespace

Exit run_suite(const SuiteOptions& options) try {
  return SuiteRun(options).run();
} catch (const std::runtime_error& error) {
  // A rival that cannot be loaded, or a call that failed; the library's own messages name what was expected.
  throw Failure(Exit::trouble, error.what());
}

}  // namespace exactile::program
