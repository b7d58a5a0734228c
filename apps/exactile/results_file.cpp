// SPDX-License-Identifier: Apache-2.0
#include "results_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "failure.hpp"
#include "text_file.hpp"

namespace exactile::program {
namespace {

namespace fs = std::filesystem;

/// What two runs must share for their rows to stand in one file. The day and the ceilings may differ.
constexpr std::string_view shared_keys[] = {"schema",     "family", "device",   "software",
                                            "contenders", "commit", "operands", "command"};
/// What tells one row of a run from the others.
constexpr std::string_view row_keys[] = {"type", "m", "n", "k", "batch", "accuracy", "layout", "fill"};

std::string text_of(const Json& object, std::string_view key) {
  const Json* const value = object.find(key);
  return value == nullptr ? std::string() : json_text(*value, -1);
}

}  // namespace

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!text.empty() && text.back() == '\0') text.pop_back();
  const std::size_t program = text.find('\0');
  text = fs::path(text.substr(0, program)).filename().string() +
         (program == std::string::npos ? "" : text.substr(program));
  std::ranges::replace(text, '\0', ' ');
  return text;
}

ResultsFile::ResultsFile(std::string path, Json head) : path_(std::move(path)), head_(std::move(head)) {
  std::error_code error;
  if (!path_.empty() && fs::exists(path_, error) && !fs::is_empty(path_, error)) read();
}

void ResultsFile::read() {
  const Json there = parse_json(read_text(path_), path_);
  const Json* const rows = there.find("results");
  if (rows == nullptr || rows->elements() == nullptr || text_of(there, "schema") != text_of(head_, "schema"))
    fail(Exit::bad_input, "{}: holds no {}; expected such results, or no file yet", path_, text_of(head_, "schema"));
  for (const std::string_view key : shared_keys)
    if (text_of(there, key) != text_of(head_, key))
      fail(Exit::bad_usage, "--output {}: holds another run: its {} is {}, not {}; expected a file of its own", path_,
           key, text_of(there, key), text_of(head_, key));
  rows_ = *rows->elements();
  for (const std::string_view key : {"date", "ceilings"})
    if (const Json* const value = there.find(key)) head_[key] = *value;
}

const Json* ResultsFile::find(const Json& row) const {
  const auto same = [&row](const Json& other) {
    return std::ranges::all_of(row_keys,
                               [&](std::string_view key) { return text_of(row, key) == text_of(other, key); });
  };
  const auto found = std::ranges::find_if(rows_, same);
  return found == rows_.end() ? nullptr : &*found;
}

std::string ResultsFile::text() const {
  std::string text = json_text(head_, 1);
  text.resize(text.rfind('\n'));  // before the last brace
  text += ",\n \"results\": [";
  for (std::size_t i = 0; i < rows_.size(); ++i) text += (i == 0 ? "\n  " : ",\n  ") + json_text(rows_[i], -1);
  return text + "\n ]\n}\n";
}

void ResultsFile::add(Json row) {
  rows_.push_back(std::move(row));
  if (path_.empty()) return;
  write_text(path_, text());
}

}  // namespace exactile::program
