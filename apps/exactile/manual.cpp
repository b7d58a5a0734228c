// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <string>

#include "commands.hpp"
#include "exactile/devices.hpp"
#include "terminal.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer = R"(`exactile manual | man -l -` shows it; `cmake --install` puts it in share/man/man1.)";

/// Text where roff would read commands: a backslash and a hyphen anywhere, a point or an apostrophe that begins a line.
std::string roff(const std::string& text) {
  std::string result;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    begins_line = c == '\n';
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

/// Lines as they stand: they hold examples and lists.
std::string as_it_stands(const std::string& text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

std::string option_text(const OptionModel& option) {
  std::string head;
  for (const std::string& name : option.names)
    head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", roff(name));
  if (!option.value.empty()) head += fmt::format("{}\\fI{}\\fR", head.empty() ? "" : " ", roff(option.value));
  return fmt::format(".TP\n{}\n{}{}\n", head, roff(option.help), option.is_required ? " (required)" : "");
}

std::string manual_text(const ProgramModel& model) {
  std::string text = fmt::format(".TH EXACTILE 1 \"\" \"exactile {}\" \"User Commands\"\n", version());
  text += ".SH NAME\n" + roff("exactile - ") + roff(model.program.summary.substr(model.program.summary.find(':') + 2));
  text += "\n.SH SYNOPSIS\n.B exactile\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n.SH COMMANDS\n";
  for (const CommandModel& command : model.commands)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(command.name), roff(command.summary));
  text += ".SH OPTIONS\n";
  for (const OptionModel& option : model.program.options) text += option_text(option);
  for (const CommandModel& command : model.commands) {
    text += fmt::format(".SH \"exactile {}\"\n{}.\n", roff(command.name), roff(command.summary));
    for (const OptionModel& option : command.options) text += option_text(option);
    if (!command.footer.empty()) text += ".PP\n" + as_it_stands(command.footer);
  }
  return text + ".SH NOTES\n" + as_it_stands(model.program.footer);
}

}  // namespace

Action add_manual(CommandLine& command) {
  command.footer(footer);
  return [&command] {
    write_result(manual_text(command.program()));
    return Exit::done;
  };
}

}  // namespace exactile::program
