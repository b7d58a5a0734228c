// SPDX-License-Identifier: Apache-2.0
#include "core/environment.hpp"

#include <charconv>
#include <cstdlib>

namespace exactile::core {

std::optional<std::string_view> environment(const char* name) noexcept {
  const char* value = secure_getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string_view(value);
}

std::optional<int> environment_count(const char* name, int most) noexcept {
  const auto text = environment(name);
  if (!text) return std::nullopt;
  const std::string_view first = text->substr(0, text->find(','));
  int count = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), count);
  if (error != std::errc() || end != first.data() + first.size() || count < 1 || count > most) return std::nullopt;
  return count;
}

std::optional<std::int64_t> environment_bytes(const char* name) noexcept {
  const auto text = environment(name);
  if (!text) return std::nullopt;
  constexpr std::string_view units = "KMGT";
  const std::size_t unit = units.find(text->back());
  const std::string_view digits = unit == units.npos ? *text : text->substr(0, text->size() - 1);
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  if (error != std::errc() || end != digits.data() + digits.size() || bytes < 0) return std::nullopt;
  const std::int64_t factor = unit == units.npos ? 1 : std::int64_t{1} << (10 * (unit + 1));
  if (__builtin_mul_overflow(bytes, factor, &bytes)) return std::nullopt;
  return bytes;
}

std::optional<std::string> cache_folder() {
  if (const auto cache = environment("XDG_CACHE_HOME"); cache && cache->starts_with('/'))
    return std::string(*cache) + "/exactile";
  if (const auto home = environment("HOME"); home && home->starts_with('/'))
    return std::string(*home) + "/.cache/exactile";
  return std::nullopt;
}

}  // namespace exactile::core
