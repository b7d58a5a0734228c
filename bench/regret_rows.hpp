// SPDX-License-Identifier: Apache-2.0
/// \file
/// What exactile_regret has measured, kept in a file of JSON lines so that an interrupted run can go on.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "race.hpp"

namespace exactile::bench {

using Json = nlohmann::ordered_json;

/// One product and its kernels.
struct Raced {
  std::string type;
  int index = 0;  ///< among the products of its seed
  Product product;
  std::vector<KernelTime> times;
};

/// The first line says what the run was asked; each further line is one kernel on one product. A product's lines are
/// written together, when it is done.
class RowsFile {
 public:
  /// Reads what is there, up to a line that was cut off, and cuts that one off. Throws std::runtime_error where another
  /// run was kept. "" keeps nothing.
  RowsFile(std::string path, const Json& header);

  [[nodiscard]] const std::vector<Raced>& raced() const { return raced_; }
  [[nodiscard]] bool has(const std::string& type, int index) const;
  void add(Raced raced);

 private:
  void read(const Json& header);

  std::string path_;
  std::vector<Raced> raced_;
};

/// For each type: products, geometric mean and worst of the regret, the share above 1.1, the longest planning beyond
/// ten calls, and the worst products.
[[nodiscard]] Json summary_of(const std::vector<Raced>& raced);

}  // namespace exactile::bench
