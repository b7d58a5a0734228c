// SPDX-License-Identifier: Apache-2.0
#include "tuning/table/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace exactile::tuning {
namespace {

/// FNV-1a.
std::uint32_t checksum(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
  return hash;
}

/// Driver names come from elsewhere; what would break a line becomes a space.
std::string field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text.empty() ? "-" : text;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr std::size_t field_count = 9;

std::optional<Row> parse_line(std::string_view line) {
  std::array<std::string_view, field_count> fields;
  std::string_view rest = line;
  for (std::size_t i = 0; i < field_count; ++i) {
    const std::size_t tab = rest.find('\t');
    if ((tab == std::string_view::npos) != (i + 1 == field_count)) return std::nullopt;
    fields[i] = rest.substr(0, tab);
    rest.remove_prefix(std::min(fields[i].size() + 1, rest.size()));
  }
  // Rows that people wrote have "-" for a checksum.
  const std::string_view covered = line.substr(0, line.size() - fields.back().size());
  if (fields.back() != "-" && fields.back() != fmt::format("{:08x}", checksum(covered))) return std::nullopt;
  const auto version = number<int>(fields[1]);
  const auto rate = number<double>(fields[6]);
  const auto parameters = fields[7] == "-" ? Parameters() : Parameters::parse(fields[7]);
  if (!version || !rate || !(*rate >= 0) || !std::isfinite(*rate) || !parameters) return std::nullopt;
  const auto text = [&](std::size_t i) { return std::string(fields[i]); };
  return Row{{text(0), *version, text(2), text(3), text(4), text(5)}, *parameters, *rate};
}

}  // namespace

std::string to_line(const Row& row) {
  const Key& k = row.key;
  const std::string line =
      fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{:.6g}\t{}\t", field(k.kernel), k.version, field(k.types),
                  field(k.shape_class), field(k.device), field(k.driver), row.rate, field(row.parameters.to_string()));
  return fmt::format("{}{:08x}\n", line, checksum(line));
}

Rows parse_rows(std::string_view text) {
  Rows parsed;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    if (auto row = parse_line(line))
      parsed.rows.push_back(std::move(*row));
    else
      ++parsed.unreadable_lines;
  }
  return parsed;
}

std::string_view shape_class(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t thin_side = 128;
  constexpr std::int64_t small_side = 640;
  constexpr std::int64_t medium_side = 1536;
  const auto elements = static_cast<double>(m) * static_cast<double>(n);
  if (std::min(m, n) <= thin_side && std::max(m, n) > small_side) return "thin";
  if (elements <= static_cast<double>(small_side * small_side)) return "small";
  if (elements <= static_cast<double>(medium_side * medium_side)) return "medium";
  return "large";
}

Shape typical_shape(std::string_view shape_class, bool is_cpu) {
  if (shape_class == "thin") return {64, 4096, 4096};
  if (shape_class == "small") return {512, 512, 512};
  if (shape_class == "medium") return {1024, 1024, 1024};
  return is_cpu ? Shape{2048, 2048, 1024} : Shape{4096, 4096, 4096};
}

}  // namespace exactile::tuning
