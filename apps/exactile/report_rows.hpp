// SPDX-License-Identifier: Apache-2.0
/// \file What the report's page knows of a product and of one contender on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json.hpp"

namespace exactile::program {

struct Product {
  std::string type, accuracy = "standard", layout, memory;
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  std::optional<double> threads;
};
/// One contender on it.
struct Row {
  std::string contender = {}, kernel = {}, rival = {};
  std::optional<double> gflops = {}, seconds = {}, error = {}, spread = {}, of_peak = {}, ratio = {};
};
// A name that ends in # stands for the numbers of texts.
inline constexpr const char* product_columns[] = {"run",   "type#",   "m",         "n",       "k",
                                                  "batch", "threads", "accuracy#", "layout#", "memory#"};
inline constexpr const char* row_columns[] = {"product", "contender#", "gflops", "error", "spread",
                                              "kernel#", "of_peak",    "ratio",  "rival#"};

[[nodiscard]] std::vector<Json> list_of(const auto& names) {
  std::vector<Json> list;
  for (const char* const name : names) list.emplace_back(name);
  return list;
}

}  // namespace exactile::program
