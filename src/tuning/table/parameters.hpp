// SPDX-License-Identifier: Apache-2.0
/// \file
/// A kernel's tunable sizes as data: "MWG=128 NWG=64 KWG=16".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace exactile::tuning {

class Parameters {
 public:
  Parameters() = default;
  Parameters(std::initializer_list<std::pair<std::string, std::int64_t>> values) : values_(values) {}

  /// Reads what to_string() writes; nothing for any other text, or where a name comes twice.
  [[nodiscard]] static std::optional<Parameters> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;

  /// The value of `name`, or `otherwise` where there is none.
  [[nodiscard]] std::int64_t get(std::string_view name, std::int64_t otherwise = 0) const;
  void set(std::string_view name, std::int64_t value);
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] const std::vector<std::pair<std::string, std::int64_t>>& values() const { return values_; }
  friend bool operator==(const Parameters&, const Parameters&) = default;

 private:
  std::vector<std::pair<std::string, std::int64_t>> values_;
};

/// A parameter's name and the values that a search tries.
struct Range {
  std::string_view name;
  std::vector<std::int64_t> values;
};
using Space = std::vector<Range>;

}  // namespace exactile::tuning
