// SPDX-License-Identifier: Apache-2.0
/// \file Files without streams: those bring all of the C++ library's locales into a library that has it inside.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace exactile::core {

/// All that is in the file; nothing where it cannot be read.
[[nodiscard]] std::optional<std::string> content_of_file(const std::string& path);

/// False where not all of it could be written.
[[nodiscard]] bool write_all(int descriptor, std::string_view text) noexcept;

/// The first line, without its end, which goes from `text` too.
[[nodiscard]] inline std::string_view next_line(std::string_view& text) noexcept {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace exactile::core
