// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace exactile::program {
namespace {

struct Options {
  SizeOptions sizes;
  std::string type = "f32";
  ScaleFlags scales;
  ChoiceOptions choice;
  bool json = false;
};

void print_plan_json(const Plan& plan, Accuracy accuracy) {
  const PlanSummary summary = plan.summary();
  const GemmDescription& d = plan.description();
  Json json = document("explain");
  json.update({{"m", d.m},
               {"n", d.n},
               {"k", d.k},
               {"batch", d.batch_count},
               {"type", to_string(d.types)},
               {"row_scales", d.row_scales},
               {"column_scales", d.column_scales},
               {"accuracy", to_string(accuracy)},
               {"kernel", summary.kernel},
               {"backend", to_string(summary.backend)},
               {"blocking", summary.blocking},
               {"accumulator", summary.accumulator},
               {"threads", summary.threads},
               {"workspace_bytes", summary.workspace_bytes},
               {"operations", summary.operations},
               {"model_bytes", summary.model_bytes},
               {"minimum_bytes", summary.minimum_bytes}});
  json["paths"] = Json::array();
  for (const Path& path : summary.paths)
    json["paths"].push_back({{"name", path.name}, {"counts", path.counts}, {"when", path.when}});
  json["candidates"] = Json::array();
  for (const Candidate& candidate : summary.candidates) {
    Json configurations = Json::array();
    for (const ConfigurationEstimate& c : candidate.configurations)
      configurations.push_back({{"parameters", c.parameters}, {"cost_seconds", c.seconds}});
    json["candidates"].push_back({{"kernel", candidate.kernel},
                                  {"backend", to_string(candidate.backend)},
                                  {"chosen", candidate.chosen},
                                  {"supported", candidate.supported},
                                  {"reason", candidate.reason},
                                  {"cost_seconds", candidate.cost_seconds},
                                  {"configurations", std::move(configurations)}});
  }
  print_json(json);
}

constexpr const char* footer =
    R"(The kernel, its blocking and threads, and for every other candidate why it was refused or lost. Nothing is computed.

Exit status: 2 bad usage, or no kernel can do this product; 4 the device that is asked for is not there.)";

Exit explain(const Options& options) {
  GemmDescription description = describe(options.sizes, parse_types(options.type));
  options.scales.apply(description);
  const GemmOptions wanted = gemm_options(options.choice);
  const Plan plan = require(Plan::make(description, wanted));
  if (options.json) {
    print_plan_json(plan, wanted.accuracy);
    return Exit::done;
  }
  std::string text = plan.explain();
  if (!text.ends_with('\n')) text += '\n';
  write_result(text);
  return Exit::done;
}

}  // namespace

Action add_explain(CommandLine& command) {
  const auto options = std::make_shared<Options>();
  add_size_options(command, options->sizes, true);
  command.add_option("--type", options->type, "Element type (default f32): " + type_names())->type_name("T");
  add_scale_flags(command, options->scales);
  add_choice_options(command, options->choice);
  add_memory_option(command, options->choice);
  command.add_flag("--json", options->json, "As JSON (exactile.explain/1)");
  command.footer(footer);
  return [options] { return explain(*options); };
}

}  // namespace exactile::program
