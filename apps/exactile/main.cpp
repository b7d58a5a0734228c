// SPDX-License-Identifier: Apache-2.0
/// \file The program's door: the commands, and how each way of ending becomes an exit code.
#include <CLI/CLI.hpp>
#include <deque>
#include <functional>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "commands.hpp"
#include "exactile/devices.hpp"
#include "exactile/settings.hpp"
#include "interrupt.hpp"
#include "terminal.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(Results go to stdout, notes and progress to stderr. `exactile COMMAND --help` says more of each command. Exit
status: 0 done, 1 a check failed, 2 bad usage, 3 bad input file, 4 device or memory trouble. Environment:
EXACTILE_NUM_THREADS, OMP_NUM_THREADS, EXACTILE_MAX_ISA, EXACTILE_TUNING_DB, EXACTILE_OPENCL_DEVICE,
EXACTILE_OPENCL_LIBRARY, XDG_CACHE_HOME, NO_COLOR.

Examples:
  exactile multiply a.npy b.npy -o c.npy --verify
  exactile ladder 1000 1000 1000
  exactile explain --m 35 --n 2560 --k 8457)";

struct CommandEntry {
  const char* name;
  const char* summary;
  Action (*add)(CommandLine&);
};

constexpr CommandEntry entries[] = {
    {"multiply", "Multiply two .npy files into a third", add_multiply},
    {"ladder", "Run every kernel on one product, slowest first", add_ladder},
    {"bench", "Time products exactly", add_bench},
    {"report", "Draw results as one page", add_report},
    {"verify", "Check kernels against the oracles", add_verify},
    {"tune", "Search a device's best sizes for a kernel and keep them", add_tune},
    {"explain", "Say which kernel would run, and why not the others", add_explain},
    {"kernels", "List the kernels", add_kernels},
    {"devices", "List what there is to compute with", add_devices},
    {"doctor", "Say what was found, what is missing, and what to do", add_doctor},
    {"completion", "Print what a shell completes command lines with", add_completion},
    {"manual", "Print the manual page", add_manual},
};

struct Command {
  explicit Command(CLI::App& its_app) : app(&its_app), line(its_app) {}

  CLI::App* app;
  CommandLine line;
  Action action;
};

std::string command_names() {
  std::string names;
  for (const CommandEntry& entry : entries) names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  return names;
}

int say_failure(const std::string& message, Exit exit_code) {
  write_note("exactile: " + message);
  return static_cast<int>(exit_code);
}

/// Help and version are results; everything else that ends the parsing is bad usage.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    std::ostringstream text;
    const int exit_code = app.exit(error, text, text);
    write_result(text.str());
    return exit_code;
  }
  std::string command = "exactile";
  for (const CLI::App* sub : app.get_subcommands()) command += " " + sub->get_name();
  return say_failure(fmt::format("{}\nSee `{} --help`.", error.what(), command), Exit::bad_usage);
}

int run(int argc, char** argv) {
  CLI::App app("exactile: products of dense matrices, each within a stated error bound", "exactile");
  app.set_version_flag("--version", fmt::format("exactile {}", version()));
  app.footer(footer);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  std::deque<Command> commands;
  for (const CommandEntry& entry : entries) {
    Command& command = commands.emplace_back(*app.add_subcommand(entry.name, entry.summary));
    command.action = entry.add(command.line);
  }
  app.allow_extras();  // to say more about an unknown command than CLI11 would; the commands themselves take none
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_of_parsing(app, error);
  }
  for (const std::string& setting : ignored_settings()) note("exactile: {}", setting);
  for (const Command& command : commands)
    if (command.app->parsed()) return static_cast<int>(command.action());
  const std::vector<std::string> rest = app.remaining();
  return say_failure(
      fmt::format("{}; expected one of {}\nSee `exactile --help`.",
                  rest.empty() ? "the command is missing" : rest.front() + ": is no command", command_names()),
      Exit::bad_usage);
}

}  // namespace
}  // namespace exactile::program

int main(int argc, char** argv) {
  using namespace exactile::program;
  occupy_standard_streams();
  try {
    install_signal_handlers();
    return run(argc, argv);
  } catch (const Failure& failure) {
    return say_failure(failure.what(), failure.exit());
  } catch (const std::bad_alloc&) {
    return say_failure("out of memory", Exit::trouble);
  } catch (const std::exception& error) {
    return say_failure(error.what(), Exit::trouble);
  }
}
