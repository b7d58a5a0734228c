// SPDX-License-Identifier: Apache-2.0
/// \file Files of results as the one table that the report's page draws.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exactile/types.hpp"
#include "json.hpp"

namespace exactile::program {

/// Collects rows of one contender on one product each.
class ReportData {
 public:
  /// Takes exactile.results/1, exactile.choice/1, exactile.runs/1 with several of these (results/schema.json),
  /// exactile.bench/1 and exactile.ladder/1 (what `bench --json` and `ladder --json` print). Throws Failure (bad input)
  /// that names the file, the row, the member and what was expected.
  void add(const std::string& path);

  /// What report/model.js reads: runs, the products of each, and rows of one contender on one product; texts by their
  /// number in `words`. Of a row the last values are left out where they are null.
  [[nodiscard]] Json json() const;

 private:
  friend class ReportReader;
  /// The text's number.
  [[nodiscard]] std::int64_t word(const std::string& text);

  std::vector<Json> runs_;
  std::vector<std::string> words_;
  std::map<std::string, std::int64_t> numbers_of_words_;
  std::map<std::string, GemmTypes> types_;
  std::vector<Json> products_;
  std::vector<Json> rows_;
};

}  // namespace exactile::program
