// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "terminal.hpp"

namespace exactile::program {

bool Table::is_left(std::size_t column) const {
  return column == 0 || std::find(left_.begin(), left_.end(), column) != left_.end();
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += is_left(i) ? fmt::format("{:<{}}", cells[i], widths[i]) : fmt::format("{:>{}}", cells[i], widths[i]);
    if (i + 1 < cells.size()) text += "  ";
  }
  return text;
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < titles_.size(); ++i) {
    std::size_t width = titles_[i].size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  return widths;
}

int Table::width() const {
  std::size_t sum = titles_.empty() ? 0 : 2 * (titles_.size() - 1);
  for (const std::size_t width : widths()) sum += width;
  return static_cast<int>(sum);
}

void Table::remove(const std::vector<std::string_view>& titles) {
  for (const std::string_view title : titles) {
    const auto found = std::ranges::find(titles_, title);
    if (found == titles_.end()) continue;
    const auto column = found - titles_.begin();
    titles_.erase(found);
    for (auto& row : rows_) row.erase(row.begin() + column);
  }
}

std::string Table::text() const {
  const auto trimmed = [](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  const std::vector<std::size_t> all = widths();
  std::string text = bold(trimmed(line(titles_, all))) + "\n";
  for (std::size_t i = 0; i < rows_.size(); ++i)
    text += trimmed(line(rows_[i], all) + (i < last_.size() ? "  " + last_[i] : "")) + "\n";
  return text;
}

std::string Table::markdown() const {
  const auto row_text = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += fmt::format(" {} |", cell);
    return text + "\n";
  };
  std::string text = row_text(titles_) + "|";
  for (std::size_t i = 0; i < titles_.size(); ++i) text += is_left(i) ? "---|" : "--:|";
  text += "\n";
  for (const auto& row : rows_) text += row_text(row);
  return text;
}

}  // namespace exactile::program
