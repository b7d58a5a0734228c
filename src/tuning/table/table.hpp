// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which parameters a kernel should run with on a device: the user's measured rows, then the shipped ones for that
/// device, for its vendor, for any of its kind.
#pragma once

#include <functional>
#include <optional>

#include "exactile/status.hpp"
#include "tuning/table/rows.hpp"

namespace exactile::tuning {

/// What is looked for. `devices` are the names a row may have, best first: the device's own, "vendor:...", "any:...".
struct Query {
  std::string kernel;
  int version = 1;
  std::vector<std::string> types;  ///< best first
  std::string shape_class;
  std::vector<std::string> devices;
  std::string driver;
};

struct Found {
  Parameters parameters;
  std::string source;  ///< "tuned on this device", "shipped for NVIDIA H200", ...
};

/// The best row whose parameters `is_legal` accepts.
[[nodiscard]] std::optional<Found> find(const Query& query, const std::function<bool(const Parameters&)>& is_legal);

/// The best rate of the user's rows that fit, in operations per second; nothing where there is no such row. What ships
/// has no rates to compare kernels by.
[[nodiscard]] std::optional<double> measured_rate(const Query& query);

/// The user's rows of that class, of all kernels, that did not fail.
[[nodiscard]] std::vector<Row> rows_of_class(std::string_view types, std::string_view shape_class);

/// Whether the user has measured anything at all, or so of one kernel; costs less than a query.
[[nodiscard]] bool has_user_rows();
[[nodiscard]] bool has_user_rows(std::string_view kernel, std::string_view types, std::string_view shape_class);

/// $EXACTILE_TUNING_DB, or tuning.tsv in core::cache_folder(); empty where there is neither.
[[nodiscard]] std::string user_file();

/// The rows of a file; none where there is no file. Read again only when the file has changed.
[[nodiscard]] Rows read_file(const std::string& path);

/// Whether rows can be kept there: a file of rows or nothing, in a folder that can be written or made. Changes nothing.
[[nodiscard]] Status check_file(const std::string& name);

/// Adds a row to the file, which is written anew beside it and renamed; several processes may do so at once. Unreadable
/// lines are left out of the new file. What is no file, or a file of something else, is refused.
[[nodiscard]] Status add_row(const std::string& name, const Row& row);

/// The same with several rows, which take the place of all that have their keys.
[[nodiscard]] Status replace_rows(const std::string& name, const std::vector<Row>& rows);

}  // namespace exactile::tuning
