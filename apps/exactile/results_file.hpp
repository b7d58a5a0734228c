// SPDX-License-Identifier: Apache-2.0
/// \file Results of exactile.results/1 (results/schema.json) as they come in: kept after every product, gone on with
/// when the same run is asked for again.
#pragma once

#include <string>
#include <vector>

#include "json.hpp"

namespace exactile::program {

/// The local day as 2026-01-31.
[[nodiscard]] std::string today();
/// Of this process, as it was typed, without the folder of the program.
[[nodiscard]] std::string command_line();

class ResultsFile {
 public:
  /// Reads what is there; "" keeps nothing. `head` is the document without its results. Throws Failure: bad input where
  /// the file holds no results, bad usage where they are of another run: of another machine, say, or commit.
  ResultsFile(std::string path, Json head);

  [[nodiscard]] const std::vector<Json>& rows() const { return rows_; }
  /// The row of this product, type, layout and accuracy; null where there is none yet.
  [[nodiscard]] const Json* find(const Json& row) const;
  /// Keeps it at once: the file is written beside the old one and takes its place.
  void add(Json row);
  [[nodiscard]] std::string text() const;

 private:
  void read();

  std::string path_;
  Json head_;
  std::vector<Json> rows_;
};

}  // namespace exactile::program
