// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace exactile::program {
namespace {

OptionModel model_of(const CLI::Option& option) {
  OptionModel model{.help = option.get_description(), .is_required = option.get_required()};
  for (const std::string& name : option.get_snames()) model.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) model.names.push_back("--" + name);
  if (model.names.empty())
    model.value = option.get_name(true);
  else if (option.get_items_expected_max() > 0)
    model.value = option.get_type_name();
  return model;
}

CommandModel model_of(const CLI::App& app) {
  CommandModel model{.name = app.get_name(), .summary = app.get_description(), .footer = app.get_footer()};
  for (const CLI::Option* const option : app.get_options()) model.options.push_back(model_of(*option));
  return model;
}

}  // namespace

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::required(bool value) {
  option_->required(value);
  return this;
}

Option* Option::delimiter(char between) {
  option_->delimiter(between);
  return this;
}

Option* Option::needs(const Option* other) {
  option_->needs(other->option_);
  return this;
}

std::size_t Option::count() const { return option_->count(); }

Option* CommandLine::keep(CLI::Option* option) { return &options_.emplace_back(*option); }

Option* CommandLine::add_option(const std::string& name, std::string& value, const std::string& help) {
  return keep(app_->add_option(name, value, help));
}

Option* CommandLine::add_option(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  return keep(app_->add_option(name, values, help));
}

Option* CommandLine::add_option(const std::string& name, double& value, const std::string& help) {
  return keep(app_->add_option(name, value, help));
}

Option* CommandLine::add_option(const std::string& name, std::optional<double>& value, const std::string& help) {
  return keep(app_->add_option(name, value, help));
}

Option* CommandLine::add_option_function(const std::string& name, std::function<void(const std::string&)> take,
                                         const std::string& help) {
  return keep(app_->add_option_function<std::string>(name, std::move(take), help));
}

Option* CommandLine::add_flag(const std::string& name, bool& value, const std::string& help) {
  return keep(app_->add_flag(name, value, help));
}

ProgramModel CommandLine::program() const {
  const CLI::App& program = *app_->get_parent();
  ProgramModel model{.program = model_of(program)};
  for (const CLI::App* const command : program.get_subcommands([](const CLI::App*) { return true; }))
    model.commands.push_back(model_of(*command));
  return model;
}

Option* CommandLine::get_option(const std::string& name) { return keep(app_->get_option(name)); }

void CommandLine::remove_option(Option* option) { app_->remove_option(std::exchange(option->option_, nullptr)); }

void CommandLine::footer(const std::string& text) { app_->footer(text); }

}  // namespace exactile::program
