// SPDX-License-Identifier: Apache-2.0
#include "tuning/table/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace exactile::tuning {

std::optional<Parameters> Parameters::parse(std::string_view text) {
  Parameters parsed;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t sign = word.find('=');
    if (sign == 0 || sign == std::string_view::npos) return std::nullopt;
    std::int64_t value = 0;
    const auto [stopped, error] = std::from_chars(word.data() + sign + 1, word.data() + word.size(), value);
    if (error != std::errc() || stopped != word.data() + word.size()) return std::nullopt;
    const std::string_view name = word.substr(0, sign);
    if (std::ranges::count(parsed.values(), name, &std::pair<std::string, std::int64_t>::first) > 0)
      return std::nullopt;
    parsed.set(name, value);
  }
  return parsed;
}

std::string Parameters::to_string() const {
  std::string text;
  for (const auto& [name, value] : values_) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

std::int64_t Parameters::get(std::string_view name, std::int64_t otherwise) const {
  for (const auto& [known, value] : values_)
    if (known == name) return value;
  return otherwise;
}

void Parameters::set(std::string_view name, std::int64_t value) {
  for (auto& [known, old] : values_)
    if (known == name) {
      old = value;
      return;
    }
  values_.emplace_back(name, value);
}

}  // namespace exactile::tuning
