// SPDX-License-Identifier: Apache-2.0
/// \file What a suite's comparison becomes: a row of results/schema.json, a line for a person, means at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comparison/comparison.hpp"
#include "json.hpp"

namespace exactile::program {

/// The members that say which product a row is of.
[[nodiscard]] Json row_of(const comparison::Product& product);
/// What was measured of it; `peak` in operations per second, where it is known.
void add_outcome(Json& row, const comparison::Product& product, const comparison::ComparisonResult& outcome,
                 std::optional<double> peak);

/// Whether the contender is this library, by whatever kernel.
[[nodiscard]] bool is_ours(std::string_view contender);

[[nodiscard]] std::string suite_heading();
[[nodiscard]] std::string suite_line(const Json& row);
/// Geometric means of the ratios for each type, over the best rival and over each.
[[nodiscard]] std::string means_text(const std::vector<Json>& rows);

}  // namespace exactile::program
