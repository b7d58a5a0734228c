// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files of measured rows that belong to the user: what may be written to, and how.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "exactile/status.hpp"

namespace exactile::tuning {

/// What tells a file of one kind of rows from others.
struct FileKind {
  std::string_view beginning;  ///< of the text, as far as it was always the same
  bool (*has_rows)(const std::string& text);
};

/// The text of a file; empty where there is none.
[[nodiscard]] std::string content_of(const std::string& path);

/// Whether rows can be kept there: a file of that kind or nothing, in a folder that can be written or made. Changes
/// nothing.
[[nodiscard]] Status check_file_of(const FileKind& kind, const std::string& name);

/// The file's text becomes what `renewed` makes of the old one. It is written beside the file and renamed; several
/// processes may do so at once. What is no file, or a file of something else, is refused.
[[nodiscard]] Status renew_file(const FileKind& kind, const std::string& name,
                                const std::function<std::string(const std::string& old)>& renewed);

}  // namespace exactile::tuning
