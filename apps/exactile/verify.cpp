// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "exactile/devices.hpp"
#include "json.hpp"
#include "measurement.hpp"
#include "options.hpp"
#include "terminal.hpp"
#include "units.hpp"
#include "verification/verification.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(Every product goes through three oracles: exact comparison on small integers, comparison against a result of
higher precision within a bound computed from the unit roundoff, K and |A||B|, and random vectors (Freivalds).
The operands lie between guarded pages and C is full of NaN before each run. What is not named is run for all
there is: kernels, types, fills, and without sizes one of each class of shapes. A failure prints the line that
runs it again.

Exit status: 1 a product is wrong.)";

struct Options {
  SizeOptions sizes;
  std::string type;
  std::string fill;
  std::uint64_t seed = 1;
  ScalarOption alpha = {"--alpha", "1"};
  ScalarOption beta = {"--beta", "0"};
  std::string layout_a;
  std::string layout_b;
  std::string layout_c;
  std::string bias = "none";
  std::string activation = "none";
  ScaleFlags scales;
  ChoiceOptions choice;
  bool sizes_given = false;
  bool json = false;
};

/// One of each class: a single element, an edge on every side of the usual tiles, primes, vector-like, deep-thin,
/// shallow-wide, and one past the cache blocks.
constexpr SizeOptions default_sizes[] = {
    {.m = 1, .n = 1, .k = 1},       {.m = 17, .n = 33, .k = 9},   {.m = 64, .n = 64, .k = 64},
    {.m = 101, .n = 103, .k = 107}, {.m = 1, .n = 200, .k = 300}, {.m = 200, .n = 1, .k = 300},
    {.m = 5, .n = 7, .k = 2000},    {.m = 200, .n = 210, .k = 3}, {.m = 150, .n = 140, .k = 520}};

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "ROW,COLUMN[,BATCH][,conjugate]" with "pointers" for a pointer array.
void apply_layout(const char* option, const std::string& text, OperandLayout& layout) {
  if (text.empty()) return;
  std::vector<std::string> parts(1);
  for (const char c : text) c == ',' ? void(parts.emplace_back()) : parts.back().push_back(c);
  const bool conjugate = parts.back() == "conjugate";
  if (conjugate) parts.pop_back();
  const bool pointers = parts.size() == 3 && parts[2] == "pointers";
  if (pointers) parts[2] = "0";
  std::vector<std::int64_t> strides;
  for (const std::string& part : parts)
    if (const auto stride = integer(part)) strides.push_back(*stride);
  if (strides.size() != parts.size() || strides.size() < 2 || strides.size() > 3)
    fail(Exit::bad_usage,
         "{} {}: expected ROW,COLUMN or ROW,COLUMN,BATCH strides, or `pointers` for BATCH, and `conjugate` behind them",
         option, text);
  layout = {.row_stride = strides[0],
            .column_stride = strides[1],
            .batch_stride = strides.size() == 3 ? strides[2] : 0,
            .pointer_array = pointers,
            .conjugate = conjugate};
}

template <class Enum>
Enum parse_word(const char* option, const std::string& text, std::initializer_list<Enum> all) {
  std::string names;
  for (const Enum one : all) {
    if (text == to_string(one)) return one;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(one));
  }
  fail(Exit::bad_usage, "{} {}: is not known; there are {}", option, text, names);
}

GemmDescription description_for(const Options& options, const SizeOptions& sizes, GemmTypes types) {
  GemmDescription d = describe(sizes, types);
  apply_layout("--layout-a", options.layout_a, d.a);
  apply_layout("--layout-b", options.layout_b, d.b);
  apply_layout("--layout-c", options.layout_c, d.c);
  d.bias = parse_word("--bias", options.bias, {Bias::none, Bias::per_row, Bias::per_column});
  options.scales.apply(d);
  d.activation = parse_word("--activation", options.activation, {Activation::none, Activation::relu, Activation::gelu});
  return d;
}

GemmOptions options_for(const Options& options, const std::string& kernel) {
  ChoiceOptions choice = options.choice;
  choice.kernel = kernel;
  return measured_options(choice);
}

void add_cases(const Options& options, const std::string& kernel, GemmTypes types,
               std::vector<verification::Case>& cases) {
  std::vector<SizeOptions> sizes(std::begin(default_sizes), std::end(default_sizes));
  if (options.sizes_given) sizes = {options.sizes};
  std::vector<verification::Fill> fills = verification::fills_for(types.input);
  if (!options.fill.empty()) fills = {parse_fill(options.fill)};
  for (const SizeOptions& size : sizes) {
    for (const verification::Fill fill : fills) {
      verification::Case test{.description = description_for(options, size, types),
                              .options = options_for(options, kernel),
                              .alpha = options.alpha.value(types),
                              .beta = options.beta.value(types),
                              .fill = fill,
                              .seed = options.seed};
      cases.push_back(test);
    }
  }
}

/// A kernel that was named runs whatever it says; of all the others those that are there.
std::vector<verification::Case> cases_for(const Options& options) {
  std::vector<verification::Case> cases;
  const std::optional<GemmTypes> only = options.type.empty() ? std::nullopt : std::optional(parse_types(options.type));
  require_one_backends_device(options.choice);
  for (const KernelInfo& kernel : kernels()) {
    const bool named = kernel.name == options.choice.kernel;
    if (!named && (!options.choice.kernel.empty() || !kernel.available)) continue;
    if (!is_of_backend(kernel, options.choice.backend) && !named) continue;
    if (named && only) {
      add_cases(options, kernel.name, *only, cases);
      continue;
    }
    for (const GemmTypes types : kernel.types)
      if (!only || types == *only) add_cases(options, kernel.name, types, cases);
  }
  if (cases.empty()) fail_for_want_of_kernels(describe(default_sizes[0], only.value_or(GemmTypes{})), options.choice);
  return cases;
}

struct Outcome {
  verification::Case test;
  verification::ErrorReport report;
};

Json outcome_json(const Outcome& outcome) {
  const GemmDescription& d = outcome.test.description;
  return {{"kernel", outcome.test.options.kernel},
          {"type", to_string(d.types)},
          {"accuracy", to_string(outcome.test.options.accuracy)},
          {"m", d.m},
          {"n", d.n},
          {"k", d.k},
          {"batch", d.batch_count},
          {"fill", verification::to_string(outcome.test.fill)},
          {"seed", outcome.test.seed},
          {"passed", outcome.report.passed},
          {"max_relative_error", outcome.report.max_relative_error},
          {"error_in_u", outcome.report.error_in_u},
          {"norm_error", outcome.report.norm_error},
          {"error_over_bound", outcome.report.error_over_bound},
          {"failure", outcome.report.failure},
          {"reproduce", verification::reproducer(outcome.test)}};
}

void print_report_json(const std::vector<Outcome>& outcomes, std::size_t failures, std::size_t refused) {
  Json json = document("verify");
  json["passed"] = failures == 0;
  json["cases"] = outcomes.size();
  json["failures"] = failures;
  json["refused"] = refused;
  json["results"] = Json::array();
  for (const Outcome& outcome : outcomes) json["results"].push_back(outcome_json(outcome));
  print_json(json);
}

Exit verify(const Options& options) {
  const std::vector<verification::Case> cases = cases_for(options);
  constexpr double seconds_per_case = 0.005;  // of the default sizes
  if (!options.sizes_given) announce_cost("this verification", seconds_per_case * static_cast<double>(cases.size()));
  std::vector<Outcome> outcomes;
  std::size_t failures = 0;
  std::size_t refused = 0;
  Status refusal;
  double worst = 0;
  Progress progress;
  for (const verification::Case& test : cases) {
    progress.show(fmt::format("{} of {}: {}", outcomes.size() + refused + 1, cases.size(), test.options.kernel));
    const Result<verification::ErrorReport> result = verification::run_case(test);
    if (!result.ok() && result.status().code() == StatusCode::unsupported && cases.size() > 1) {
      ++refused;  // a kernel may say that a shape is not for it; the planner then takes another
      refusal = result.status();
      continue;
    }
    if (!result.ok()) require(result.status());
    outcomes.push_back({test, result.value()});
    worst = std::max(worst, result.value().error_over_bound);
    if (result.value().passed) continue;
    ++failures;
    progress.clear();
    if (!options.json) print_result("FAILED: {}\n  {}\n", verification::reproducer(test), result.value().failure);
  }
  progress.clear();
  if (outcomes.empty()) require(refusal);
  if (options.json)
    print_report_json(outcomes, failures, refused);
  else
    print_result("{} products checked, {} wrong; largest error {} of its bound\n", outcomes.size(), failures,
                 number_text(worst));
  return failures == 0 ? Exit::done : Exit::check_failed;
}

}  // namespace

Action add_verify(CommandLine& command) {
  const auto options = std::make_shared<Options>();
  add_size_options(command, options->sizes, false);
  Option* const sizes[] = {command.get_option("--m"), command.get_option("--n"), command.get_option("--k")};
  for (Option* const one : sizes)
    for (Option* const other : sizes)
      if (one != other) one->needs(other);
  command.add_option("--type", options->type, "Element type (default: all): " + type_names())->type_name("T");
  command
      .add_option("--fill", options->fill,
                  "normal, uniform, small_integers, wide_range, cancelling or special_values (default: all)")
      ->type_name("NAME");
  add_seed(command, options->seed);
  command.add_option("--alpha", options->alpha.text, "Factor of A*B (default 1)")->type_name("X");
  command.add_option("--beta", options->beta.text, "Factor of C (default 0)")->type_name("Y");
  command.add_option("--layout-a", options->layout_a, "Strides of A: ROW,COLUMN[,BATCH]")->type_name("R,C[,B]");
  command.add_option("--layout-b", options->layout_b, "Strides of B; `pointers` for BATCH makes a pointer array")
      ->type_name("R,C[,B]");
  command.add_option("--layout-c", options->layout_c, "Strides of C")->type_name("R,C[,B]");
  command.add_option("--bias", options->bias, "none (default), per_row or per_column")->type_name("NAME");
  add_scale_flags(command, options->scales);
  command.add_option("--activation", options->activation, "none (default), relu or gelu")->type_name("NAME");
  add_choice_options(command, options->choice);
  add_memory_option(command, options->choice);
  command.add_flag("--json", options->json, "As JSON (exactile.verify/1)");
  command.footer(footer);
  Option* const m = sizes[0];
  return [options, m] {
    options->sizes_given = m->count() > 0;
    return verify(*options);
  };
}

}  // namespace exactile::program
