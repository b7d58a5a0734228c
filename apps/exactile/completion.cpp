// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "exactile/devices.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(In a running shell: source <(exactile completion bash), or exactile completion fish | source. `cmake --install`
puts all three where the shells look: share/bash-completion/completions/exactile,
share/zsh/site-functions/_exactile and share/fish/vendor_completions.d/exactile.fish.)";

bool is_file(const OptionModel& option) {
  return option.value == "FILE" || option.value == "A" || option.value == "B" || option.value == "PROGRAM";
}

/// The words that an option takes, as far as they are known ahead.
std::vector<std::string> values_of(const OptionModel& option) {
  const auto named = [&](const char* name) { return std::ranges::find(option.names, name) != option.names.end(); };
  std::vector<std::string> values;
  if (named("--type"))
    for (const GemmTypes types : all_gemm_types()) values.push_back(to_string(types));
  if (named("--kernel"))
    for (const KernelInfo& kernel : kernels()) values.push_back(kernel.name);
  if (named("--backend")) values = {"automatic", "cpu", "cuda", "opencl"};
  if (named("--accuracy")) values = {"reduced", "standard", "compensated", "correctly_rounded"};
  if (named("--planning")) values = {"formula", "estimate", "measured"};
  if (named("--memory")) values = {"host", "device"};
  if (named("--rotate")) values = {"auto", "on", "off"};
  if (named("--rivals")) values = {"auto", "own", "none"};
  if (named("--prepared")) values = {"a", "b", "ab"};
  if (named("--shape-class")) values = {"thin", "small", "medium", "large"};
  if (option.names.empty() && option.value == "SHELL") values = {"bash", "zsh", "fish"};
  if (named("--fill"))
    for (int fill = 0; fill <= static_cast<int>(verification::Fill::special_values); ++fill)
      values.emplace_back(to_string(static_cast<verification::Fill>(fill)));
  return values;
}

/// Within single quotes; `quote` is how a shell has one inside them.
std::string quoted(const std::string& text, std::string_view quote) {
  std::string result;
  for (const char c : text)
    if (c == '\'')
      result += quote;
    else
      result += c;
  return result;
}

std::string bash_completion(const ProgramModel& model) {
  std::string commands;
  std::string cases;
  for (const CommandModel& command : model.commands) {
    commands += " " + command.name;
    std::string options;
    std::string plain;  // what stands by its place
    for (const OptionModel& option : command.options) {
      options += fmt::format(" {}", fmt::join(option.names, " "));
      const std::vector<std::string> values = values_of(option);
      if (option.names.empty()) {
        plain += is_file(option) ? " -f" : fmt::format(" -W '{}'", fmt::join(values, " "));
        continue;
      }
      if (option.value.empty()) continue;
      const std::string how = is_file(option) ? "-f" : fmt::format("-W '{}'", fmt::join(values, " "));
      cases += fmt::format("    {}) words={} ;;\n",
                           fmt::format("{}:{}", command.name, fmt::join(option.names, "|" + command.name + ":")),
                           fmt::format("\"{}\"", how));
    }
    cases += fmt::format("    {}:*) words=\"-W '{}'{}\" ;;\n", command.name, options.substr(1),
                         plain.find("-f") != std::string::npos ? " -f" : plain);
  }
  return fmt::format(R"(# bash completion of exactile, made by `exactile completion bash`.
_exactile() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$current")
    return
  fi
  case $command:${{COMP_WORDS[COMP_CWORD - 1]}} in
{}    *) return ;;
  esac
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(eval "compgen $words -- \"\$current\"")
}}
complete -F _exactile exactile
)",
                     commands.substr(1), cases);
}

std::string zsh_option(const OptionModel& option) {
  // In a specification [ ] and : have a meaning.
  std::string help;
  for (const char c : option.help) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') help += '\\';
    help += c;
  }
  help = quoted(help, "'\\''");
  const std::string action = is_file(option) ? "_files" : fmt::format("({})", fmt::join(values_of(option), " "));
  if (option.names.empty()) return fmt::format("'*:{}:{}'", option.value, action);
  const std::string value = option.value.empty() ? "" : fmt::format(":{}:{}", option.value, action);
  std::string specification;
  for (const std::string& name : option.names)
    specification += fmt::format("{}'*{}[{}]{}'", specification.empty() ? "" : " ", name, help, value);
  return specification;
}

std::string zsh_completion(const ProgramModel& model) {
  std::string commands;
  std::string cases;
  for (const CommandModel& command : model.commands) {
    commands += fmt::format("    '{}:{}'\n", command.name, quoted(command.summary, "'\\''"));
    cases += fmt::format("    {}) _arguments", command.name);
    bool has_place = false;
    for (const OptionModel& option : command.options) {
      if (option.names.empty() && has_place) continue;  // one entry stands for all places
      has_place = has_place || option.names.empty();
      cases += " \\\n      " + zsh_option(option);
    }
    cases += " ;;\n";
  }
  return fmt::format(R"(#compdef exactile
# zsh completion of exactile, made by `exactile completion zsh`.
_exactile() {{
  local -a commands
  commands=(
{}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=${{words[2]}}
  shift words
  ((CURRENT--))
  case $command in
{}  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _exactile "$@"; else compdef _exactile exactile; fi
)",
                     commands, cases);
}

std::string fish_completion(const ProgramModel& model) {
  std::string text = "# fish completion of exactile, made by `exactile completion fish`.\ncomplete -c exactile -f\n";
  for (const CommandModel& command : model.commands) {
    text += fmt::format("complete -c exactile -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                        quoted(command.summary, "\\'"));
    for (const OptionModel& option : command.options) {
      text += fmt::format("complete -c exactile -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      std::vector<std::string> values = values_of(option);
      for (std::string& value : values)  // the list is read as a command line is
        if (const std::size_t at = value.find('>'); at != std::string::npos) value.insert(at, 1, '\\');
      if (is_file(option))
        text += option.names.empty() ? " -F" : " -r -F";
      else if (!values.empty())
        text += fmt::format("{} -a '{}'", option.names.empty() ? "" : " -x", fmt::join(values, " "));
      else if (!option.value.empty() && !option.names.empty())
        text += " -x";
      text += fmt::format(" -d '{}'\n", quoted(option.help, "\\'"));
    }
  }
  return text;
}

}  // namespace

Action add_completion(CommandLine& command) {
  const auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command.footer(footer);
  return [shell, &command] {
    if (*shell != "bash" && *shell != "zsh" && *shell != "fish")
      fail(Exit::bad_usage, "SHELL {}: is not known; there are bash, zsh, fish", *shell);
    const ProgramModel model = command.program();
    write_result(*shell == "bash"  ? bash_completion(model)
                 : *shell == "zsh" ? zsh_completion(model)
                                   : fish_completion(model));
    return Exit::done;
  };
}

}  // namespace exactile::program
