// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace exactile::program {

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

Option* CommandLine::add_option_function(const std::string& name, std::function<void(const std::string&)> take,
                                         const std::string& help) {
  return keep(app_->add_option_function<std::string>(name, std::move(take), help));
}

Option* CommandLine::add_flag(const std::string& name, bool& value, const std::string& help) {
  return keep(app_->add_flag(name, value, help));
}

Option* CommandLine::get_option(const std::string& name) { return keep(app_->get_option(name)); }

void CommandLine::remove_option(Option* option) { app_->remove_option(std::exchange(option->option_, nullptr)); }

void CommandLine::footer(const std::string& text) { app_->footer(text); }

}  // namespace exactile::program
