// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "commands.hpp"
#include "documents/documents.hpp"
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

constexpr const char* footer =
    R"(The kernel, its blocking and threads, and for every other candidate why it was refused or lost. Nothing is
computed.

Exit status: 2 bad usage, or no kernel can do this product; 4 the device that is asked for is not there.)";

Exit explain(const Options& options) {
  GemmDescription description = describe(options.sizes, parse_types(options.type));
  options.scales.apply(description);
  const GemmOptions wanted = gemm_options(options.choice);
  const Plan plan = require(Plan::make(description, wanted));
  if (options.json) {
    write_result(documents::explain(plan, wanted.accuracy) + "\n");
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
