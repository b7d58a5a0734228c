// SPDX-License-Identifier: Apache-2.0
/// \file
/// exactile_compare: times exactile against other libraries in one program. See README.md beside this file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "contest.hpp"
#include "exactile/context.hpp"
#include "exactile/devices.hpp"
#include "ours.hpp"
#include "report.hpp"
#include "shapes.hpp"

namespace exactile::bench {
namespace {

struct Arguments {
  std::vector<std::string> types = {"f32"};
  std::vector<std::string> shapes;
  std::vector<std::string> batches;
  std::vector<std::string> transposed;
  std::vector<std::string> rivals;
  OurOptions ours;
  int threads = 1;
  double seconds = 0.5;
  double lead_in = -1;
  bool on_device = false;
  int device = 0;
  std::string accuracy = "standard";
  bool a_by_columns = false;
  bool b_by_columns = false;
  std::string order = "both";
  std::string fill = "normal";
  std::string prepared;
  bool rivals_only = false;
  bool peak = false;
  std::string json;
};

const std::map<std::string, Order> orders{
    {"forward", Order::forward}, {"backward", Order::backward}, {"both", Order::both}};
const std::map<std::string, Fill> fills{
    {"normal", Fill::normal}, {"uniform", Fill::uniform}, {"wide_range", Fill::wide_range}};

CLI::Validator positive_seconds() {
  constexpr double most = 1e6;
  const auto check = [](const std::string& text) {
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && seconds > 0 && seconds <= most ? std::string() : text + ": expected more than 0, at most 1e6";
  };
  return {check, "SECONDS"};
}

void declare(CLI::App& app, Arguments& arguments) {
  app.add_option("--types", arguments.types, "f32 (default), f64, cf32, i32, f16->f32, ...")->delimiter(',');
  app.add_option("--shapes", arguments.shapes, "Files of shapes, or lists MxNxK,MxNxK; may be given again");
  app.add_option("--batch", arguments.batches, "COUNTxMxNxK: one batched plan against a loop over each rival");
  app.add_option("--transposed", arguments.transposed, "MxNxK: transposed, padded and strided against plain");
  app.add_option("--rival", arguments.rivals, "NAME=PATH[,VARIABLE=VALUE...]; may be given again");
  app.add_option_function<std::string>(
         "--backend", [&arguments](const std::string& name) { arguments.ours.backend = *parse_backend(name); },
         "exactile's backend (default cpu)")
      ->check(CLI::IsMember({"cpu", "cuda", "opencl"}));
  app.add_flag("--device-memory", arguments.on_device,
               "Operands in the memory of the backend's device, times by its clock; rivals: cublas, cublaslt");
  app.add_option("--device", arguments.device, "Which of the backend's devices")->capture_default_str();
  app.add_option("--lead-in", arguments.lead_in,
                 "Seconds of a contender's own calls before each of its samples (default: 0.3 in device memory)");
  app.add_option("--kernel", arguments.ours.kernel, "exactile's kernel; the planner's choice by default");
  app.add_option(
         "--accuracy", arguments.accuracy,
         "standard, or reduced: f32 of all contenders may then be rounded to tf32, and native 8-bit floats compete")
      ->capture_default_str();
  app.add_flag("--a-by-columns", arguments.a_by_columns, "Columns of A are contiguous");
  app.add_flag("--b-by-columns", arguments.b_by_columns,
               "Columns of B are contiguous, the only layout of 8-bit floats that cublaslt takes");
  app.add_option("--fill", arguments.fill, "What A and B hold")->check(CLI::IsMember(fills))->capture_default_str();
  app.add_option("--prepared", arguments.prepared,
                 "exactile's operands that are prepared before the clock runs: a, b or ab")
      ->check(CLI::IsMember({"a", "b", "ab"}));
  app.add_option("--threads", arguments.threads, "Threads of every contender")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--seconds", arguments.seconds, "Timed work for each contender and shape")
      ->check(positive_seconds())
      ->capture_default_str();
  app.add_option("--order", arguments.order, "forward (exactile first), backward or both in turn")
      ->check(CLI::IsMember(orders))
      ->capture_default_str();
  app.add_flag("--rivals-only", arguments.rivals_only, "Leave exactile out")
      ->excludes("--transposed")
      ->excludes("--prepared");
  app.add_flag("--peak", arguments.peak, "Measure the multiply-add peak before each shape")->excludes("--rivals-only");
  app.add_option("--json", arguments.json, "Write the results to this file");
}

GemmTypes types_of(const std::string& name) {
  const std::optional<GemmTypes> types = parse_gemm_types(name);
  if (!types) throw std::runtime_error("--types " + name + ": expected a type that `exactile kernels` lists");
  return *types;
}

Accuracy accuracy_of(const std::string& name) {
  const std::optional<Accuracy> accuracy = parse_accuracy(name);
  if (!accuracy) throw std::runtime_error("--accuracy " + name + ": expected standard or reduced");
  return *accuracy;
}

double measured_peak(const Arguments& arguments, GemmTypes types) {
  const Result<double> peak = measure_peak(arguments.ours.backend, types, arguments.threads, arguments.device);
  if (!peak.ok()) throw std::runtime_error("peak: " + std::string(peak.status().message()));
  return peak.value();
}

/// The program's state: who competes, under which limits, and what came of it.
class Comparison {
 public:
  explicit Comparison(Arguments arguments) : arguments_(std::move(arguments)) {
    setting_.threads = arguments_.threads;
    setting_.rivals_only = arguments_.rivals_only;
    setting_.fill = arguments_.fill;
    setting_.prepared = arguments_.prepared;
    limits_.seconds = arguments_.seconds;
    limits_.order = orders.at(arguments_.order);
    arguments_.ours.prepared_a = arguments_.prepared.find('a') != std::string::npos;
    arguments_.ours.prepared_b = arguments_.prepared.find('b') != std::string::npos;
    if (arguments_.on_device) open_device();
    if (arguments_.lead_in >= 0) limits_.lead_in_seconds = arguments_.lead_in;
    if (arguments_.threads > 1) limits_.pause_seconds = 0.05;  // longer than OpenMP's and OpenBLAS's workers spin
    if (!arguments_.rivals_only) enter("exactile", make_exactile(arguments_.ours));
    for (const std::string& specification : arguments_.rivals) {
      NamedRival rival = load_rival(specification, context());
      enter(std::move(rival.name), std::move(rival.contender));
    }
  }

  void run() {
    print_versions(setting_);
    for (const std::string& name : arguments_.types) run_type(types_of(name));
    print_means(rows_, setting_);
    if (!arguments_.json.empty()) write_json(arguments_.json, rows_, setting_);
  }

  /// Says every wrong result once more, where it is not overlooked.
  [[nodiscard]] bool all_right() const {
    bool right = true;
    for (const Row& row : rows_)
      for (const Score& score : row.scores)
        if (!score.error.empty()) {
          fmt::print(stderr, "wrong: {} {} {}: {}\n", score.name, to_string(row.type), to_string(row.shape),
                     score.error);
          right = false;
        }
    return right;
  }

 private:
  [[nodiscard]] const Context* context() const { return context_ ? &*context_ : nullptr; }

  void open_device() {
    Result<Context> opened = Context::make(arguments_.ours.backend, arguments_.device);
    if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
    context_ = std::move(opened).value();
    arguments_.ours.context = &*context_;
    constexpr double until_the_clock_settles = 0.3;
    limits_.lead_in_seconds = until_the_clock_settles;
  }

  void enter(std::string name, std::unique_ptr<Contender> contender) {
    contender->set_threads(arguments_.threads);
    setting_.versions.emplace_back(name, contender->version());
    entrants_.push_back({std::move(name), std::move(contender)});
  }

  void run_type(GemmTypes type) {
    if (arguments_.peak)
      fmt::print("peak {}           {:.1f} GFLOP/s\n", to_string(type), measured_peak(arguments_, type) * 1e-9);
    for (const std::string& text : arguments_.shapes) {
      const ShapeGroup group = read_shapes(text);
      for (const Shape& shape : group.shapes) add_contest(group.name, type, shape);
    }
    for (const std::string& text : arguments_.batches) add_contest("batch", type, parse_batch(text));
    for (const std::string& text : arguments_.transposed) add_layouts(type, parse_shape(text));
  }

  void add_contest(const std::string& group, GemmTypes type, const Shape& shape) {
    Row row{.group = group, .type = type, .shape = shape, .scores = {}};
    if (arguments_.peak) row.peak = measured_peak(arguments_, type);
    Product product = plain_product(shape, type);
    product.accuracy = accuracy_of(arguments_.accuracy);
    if (arguments_.a_by_columns) product.a = {.rows = product.k, .leading = product.m, .transposed = true};
    if (arguments_.b_by_columns) product.b = {.rows = product.n, .leading = product.k, .transposed = true};
    row.scores = hold_contest(entrants_, product, limits_, context(), fills.at(arguments_.fill));
    add(std::move(row));
  }

  void add_layouts(GemmTypes type, const Shape& shape) {
    const std::vector<Variant> variants = layouts_of(plain_product(shape, type));
    add({.group = "layouts",
         .type = type,
         .shape = shape,
         .scores =
             compare_layouts(*entrants_.front().contender, variants, limits_, context(), fills.at(arguments_.fill)),
         .layouts = true});
  }

  void add(Row row) {
    print_row(row, setting_);
    rows_.push_back(std::move(row));
  }

  Arguments arguments_;
  std::optional<Context> context_;
  Setting setting_;
  RoundLimits limits_;
  std::vector<Entrant> entrants_;
  std::vector<Row> rows_;
};

int compare_all(const Arguments& arguments) try {
  Comparison comparison(arguments);
  comparison.run();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw std::runtime_error("cannot write to standard output");
  return comparison.all_right() ? 0 : 1;
} catch (const std::bad_alloc&) {
  fmt::print(stderr, "exactile_compare: no memory for the operands\n");
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "exactile_compare: {}\n", error.what());
  return 2;
}

}  // namespace
}  // namespace exactile::bench

int main(int count, char** values) {
  CLI::App app("Times exactile against other libraries, turn by turn in one program", "exactile_compare");
  exactile::bench::Arguments arguments;
  exactile::bench::declare(app, arguments);
  try {
    app.parse(count, values);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exactile::bench::compare_all(arguments);
}
