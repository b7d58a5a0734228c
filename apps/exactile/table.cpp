// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "terminal.hpp"

namespace exactile::program {

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool left = i == 0 || std::find(left_.begin(), left_.end(), i) != left_.end();
    text += left ? fmt::format("{:<{}}", cells[i], widths[i]) : fmt::format("{:>{}}", cells[i], widths[i]);
    if (i + 1 < cells.size()) text += "  ";
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < titles_.size(); ++i) {
    std::size_t width = titles_[i].size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string text = bold(line(titles_, widths)) + "\n";
  for (const auto& row : rows_) text += line(row, widths) + "\n";
  return text;
}

}  // namespace exactile::program
