// SPDX-License-Identifier: Apache-2.0
/// \file A table for a person: the first column to the left, the others to the right, two blanks between.
#pragma once

#include <string>
#include <vector>

namespace exactile::program {

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Columns that hold words rather than numbers; the first one is always to the left.
  void align_left(std::vector<std::size_t> columns) { left_ = std::move(columns); }
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> left_;
};

}  // namespace exactile::program
