// SPDX-License-Identifier: Apache-2.0
/// \file The options of a command. CLI11 reads the command line; its header takes longer to compile than a command, so
/// only command_line.cpp and main.cpp include it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
class Option;
}  // namespace CLI

namespace exactile::program {

/// An option of a command. What sets a property returns the option, so that one statement can set several.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  /// What stands for the value in the help.
  Option* type_name(const std::string& name);
  Option* required(bool value = true);
  /// Several values may stand in one argument, with this between them.
  Option* delimiter(char between);
  Option* needs(const Option* other);
  /// How many values the command line gave.
  [[nodiscard]] std::size_t count() const;

 private:
  friend class CommandLine;
  CLI::Option* option_;
};

/// An option as its definition tells it.
struct OptionModel {
  std::vector<std::string> names = {};  ///< "-o", "--output"; empty where it is known by its place
  std::string value = {};               ///< what stands for its value in the help; "" of a flag
  std::string help = {};
  bool is_required = false;
};
struct CommandModel {
  std::string name = {};
  std::string summary = {};
  std::string footer = {};
  std::vector<OptionModel> options = {};
};
struct ProgramModel {
  CommandModel program = {};
  std::vector<CommandModel> commands = {};
};

/// What one command reads. Options and the variables that they fill must live until the command line is parsed.
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(&app) {}
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Option* add_option(const std::string& name, std::string& value, const std::string& help);
  Option* add_option(const std::string& name, std::vector<std::string>& values, const std::string& help);
  Option* add_option(const std::string& name, double& value, const std::string& help);
  Option* add_option(const std::string& name, std::optional<double>& value, const std::string& help);
  /// `take` gets the text of the value and throws Failure where that is none.
  Option* add_option_function(const std::string& name, std::function<void(const std::string&)> take,
                              const std::string& help);
  Option* add_flag(const std::string& name, bool& value, const std::string& help);
  /// The option that was added under this name.
  Option* get_option(const std::string& name);
  void remove_option(Option* option);
  /// The whole program, of which this is a command.
  [[nodiscard]] ProgramModel program() const;
  /// What the help says below the options.
  void footer(const std::string& text);

 private:
  Option* keep(CLI::Option* option);

  CLI::App* app_;
  std::deque<Option> options_;
};

}  // namespace exactile::program
