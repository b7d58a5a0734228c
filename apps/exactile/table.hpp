// SPDX-License-Identifier: Apache-2.0
/// \file A table for a person: the first column to the left, the others to the right, two blanks between.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace exactile::program {

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Columns that hold words rather than numbers; the first one is always to the left.
  void align_left(std::vector<std::size_t> columns) { left_ = std::move(columns); }
  /// Leaves out the columns of these titles.
  void remove(const std::vector<std::string_view>& titles);
  /// One more column at the right, without a title, whose cells may hold escape sequences; one for each row.
  void add_last(std::vector<std::string> cells) { last_ = std::move(cells); }
  /// Columns of a terminal that text() takes, without what add_last() has added.
  [[nodiscard]] int width() const;
  [[nodiscard]] std::string text() const;
  /// As GitHub and many others read it.
  [[nodiscard]] std::string markdown() const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] bool is_left(std::size_t column) const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> left_;
  std::vector<std::string> last_;
};

}  // namespace exactile::program
