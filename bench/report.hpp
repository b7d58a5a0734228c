// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the comparison prints, and what it writes for programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "contest.hpp"
#include "shapes.hpp"

namespace exactile::bench {

struct Row {
  std::string group;
  GemmTypes type;
  Shape shape;
  std::vector<Score> scores;  ///< exactile first, unless the rivals run alone
  double peak = 0;            ///< measured operations per second just before; 0 where not asked for
  bool layouts = false;       ///< the scores are layouts of exactile, the first of them plain
};

struct Setting {
  int threads = 1;
  bool rivals_only = false;
  std::string fill;      ///< what A and B hold, by the option's name
  std::string prepared;  ///< exactile's operands that are prepared ahead: "", a, b or ab
  std::vector<std::pair<std::string, std::string>> versions;  ///< name and version of every contender
};

void print_versions(const Setting& setting);
void print_row(const Row& row, const Setting& setting);
/// Geometric means over each group and type.
void print_means(const std::vector<Row>& rows, const Setting& setting);
/// Throws std::runtime_error.
void write_json(const std::string& path, const std::vector<Row>& rows, const Setting& setting);

}  // namespace exactile::bench
