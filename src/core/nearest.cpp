// SPDX-License-Identifier: Apache-2.0
#include "core/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace exactile::core {
namespace {

constexpr std::size_t longest = 64;
constexpr std::size_t most_names = 5;

/// Twice the letters to insert, leave out or exchange on the way from one to the other (Levenshtein). What `to` has
/// beyond the end of `from` counts half, because names are often begun and not ended.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (auto& x : row) x *= 2;
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], 2 * (i + 1));
    const std::size_t insertion = i + 1 == from.size() ? 1 : 2;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t exchanged = diagonal + (from[i] == to[j] ? 0 : 2);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + insertion, row[j + 1] + 2});
    }
  }
  return row.back();
}

}  // namespace

std::string shortened(std::string_view text) {
  if (text.size() <= longest) return std::string(text);
  std::size_t end = longest;  // not within a character of UTF-8, which has at most three such bytes
  while (end > longest - 4 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string nearest_names(std::string_view asked, std::span<const std::string_view> names) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const std::string_view name : names)
    if (const std::size_t edits = distance(asked.substr(0, longest), name);
        edits < asked.size() || name.starts_with(asked))
      ranked.emplace_back(edits, name);
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  if (ranked.size() > most_names) ranked.resize(most_names);
  std::string text;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    text += i == 0 ? "; near it: " : i + 1 == ranked.size() ? " or " : ", ";
    text += ranked[i].second;
  }
  return text;
}

}  // namespace exactile::core
