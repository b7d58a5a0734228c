// SPDX-License-Identifier: Apache-2.0
/// \file A suite: products worth timing, as a file that a person writes.
#pragma once

#include <string>
#include <vector>

#include "comparison/contender.hpp"

namespace exactile::program {

struct Suite {
  std::string name;  ///< what its line `family` says, else the file's name without folder and ending
  std::vector<comparison::Product> products;
};

/// One product a line, MxNxK or COUNTxMxNxK, then `ta` where A and `tb` where B is stored transposed. A line `types f32
/// f64`, `accuracies standard reduced` or `fills normal uniform` says what the products below it are multiplied as:
/// each in every type, accuracy and fill; `family WORDS` names the suite. '#' begins a comment. What is given here,
/// unless empty, takes the place of the file's; all products are `reproducible` or none is. Throws Failure (bad input)
/// that names the line.
[[nodiscard]] Suite read_suite(const std::string& path, const std::vector<std::string>& types,
                               const std::string& accuracy, const std::string& fill, bool reproducible);

/// "1000x35x20", or with a batch "8x1000x35x20".
[[nodiscard]] std::string shape_text(const comparison::Product& product);
/// "A by columns, B by columns"; empty where both lie by rows.
[[nodiscard]] std::string layout_text(const comparison::Product& product);

}  // namespace exactile::program
