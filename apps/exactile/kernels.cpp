// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <memory>

#include "commands.hpp"
#include "documents/documents.hpp"
#include "options.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace exactile::program {
namespace {

struct Options {
  std::string backend;
  bool json = false;
};

std::vector<std::string> names_of(const std::vector<GemmTypes>& types) {
  std::vector<std::string> names;
  names.reserve(types.size());
  for (const GemmTypes pair : types) names.push_back(to_string(pair));
  return names;
}

std::vector<KernelInfo> wanted_kernels(const Options& options) {
  std::vector<KernelInfo> wanted = kernels();
  std::erase_if(wanted, [&](const KernelInfo& kernel) { return !is_of_backend(kernel, options.backend); });
  return wanted;
}

/// A backend without kernels is one whose devices cannot be used here.
void note_absence(const std::string& backend) {
  for (const DeviceInfo& device : devices())
    if (device.backend == backend_named(backend)) note("no kernels of {} are here: {}", backend, device.reason);
}

void print_text(const std::vector<KernelInfo>& list) {
  for (const KernelInfo& kernel : list) {
    print_result("{} ({}, {}{})\n", bold(kernel.name), to_string(kernel.backend), kernel.role,
                 kernel.available ? "" : ", not available");
    if (!kernel.summary.empty()) print_result("    {}\n", kernel.summary);
    print_result("    types: {}\n", fmt::join(names_of(kernel.types), ", "));
    if (!kernel.available) print_result("    not available: {}\n", kernel.reason);
  }
}

}  // namespace

Action add_kernels(CommandLine& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("--backend", options->backend, "Kernels of this backend only")->type_name("NAME");
  command.add_flag("--json", options->json, "As JSON (exactile.kernels/1)");
  command.footer(
      "In the planner's order of preference. An `engine` kernel competes for every product; a `ladder` kernel shows "
      "one\n"
      "step on the way there and runs when it is asked for by name.");
  return [options] {
    const std::vector<KernelInfo> list = wanted_kernels(*options);
    options->json ? write_result(documents::kernels(list) + "\n") : print_text(list);
    if (list.empty()) note_absence(options->backend);
    return Exit::done;
  };
}

}  // namespace exactile::program
