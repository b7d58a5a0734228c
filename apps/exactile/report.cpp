// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "report_data.hpp"
#include "report_page.hpp"
#include "terminal.hpp"
#include "text_file.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(One page that needs nothing else: no network, no other file. It has the speed against size of every kernel and
rival, the ladder as bars, a map of the ratios, a roofline with measured ceilings, error against time, and a
table to sort and filter; devices stand side by side. FILEs are what `exactile bench --suite FILE -o`, `bench
--json` and `ladder --json` write, and those of results/.

Exit status: 3 a file is no such results.)";

struct Options {
  std::vector<std::string> files;
  std::string output;
  std::string title = "exactile: results";
};

/// Text where markup is read.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  return result;
}

/// JSON inside of <script>: no text in it may end that, or begin a comment.
std::string as_data(const Json& json) {
  std::string result;
  for (const char c : json_text(json, -1))
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  return result;
}

/// The page with each @name@ in its place; what is put in is not looked at again.
std::string filled(std::string_view page, const std::vector<std::pair<std::string_view, std::string_view>>& parts) {
  std::string result;
  while (true) {
    const std::size_t at = page.find('@');
    result += page.substr(0, at);
    if (at == std::string_view::npos) return result;
    page.remove_prefix(at + 1);
    const std::string_view name = page.substr(0, page.find('@'));
    for (const auto& [part, text] : parts)
      if (part == name) result += text;
    page.remove_prefix(name.size() + 1);
  }
}

Exit report(const Options& options) {
  if (plotly_script().empty())
    fail(Exit::trouble,
         "this build has no plotting library for the page; `./dev setup` installs it (plotly, from PyPI), "
         "then build again");
  ReportData data;
  for (const std::string& file : options.files) data.add(file);
  const std::string title = escaped(options.title);
  const std::string text = as_data(data.json());
  write_text(options.output, filled(page_html, {{"title", title},
                                                {"data", text},
                                                {"plotly", plotly_script()},
                                                {"page.css", page_css},
                                                {"model.js", model_js},
                                                {"charts.js", charts_js},
                                                {"table.js", table_js},
                                                {"page.js", page_js}}));
  return Exit::done;
}

}  // namespace

Action add_report(CommandLine& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("FILE", options->files, "Results of benchmarks")->required();
  command.add_option("-o,--output", options->output, "The page")->type_name("FILE")->required();
  command.add_option("--title", options->title, "What stands above it (default \"exactile: results\")")
      ->type_name("TEXT");
  command.footer(footer);
  return [options] { return report(*options); };
}

}  // namespace exactile::program
