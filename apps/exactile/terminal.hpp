// SPDX-License-Identifier: Apache-2.0
/// \file stdout carries results; notes and progress go to stderr, progress and colour only to a terminal.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace exactile::program {

/// Where a standard stream was closed by whoever started the program, its number would go to the next file that is
/// opened, and results would be written into that. To be called before any file is.
void occupy_standard_streams();

/// Whether stdout may be coloured: a terminal, and NO_COLOR is not set.
[[nodiscard]] bool colour_allowed();
[[nodiscard]] std::string bold(std::string_view text);

enum class Colour : std::uint8_t { red = 31, green = 32, cyan = 36 };
/// The text itself where stdout may not be coloured.
[[nodiscard]] std::string coloured(std::string_view text, Colour colour);

/// Columns of the terminal that stdout is; 0 where it is none or does not say.
[[nodiscard]] int terminal_columns();

/// `fraction` of a bar of `width` columns: in eighths where the locale is UTF-8, whole columns of # where it is not.
[[nodiscard]] std::string bar(double fraction, int width);

/// Text of unknown origin, such as a file's name, that a terminal will not obey: control characters as \x1b.
[[nodiscard]] std::string printable(std::string_view text);

/// One line on stderr, or several; other control characters are made printable.
void write_note(std::string_view text);

template <class... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  write_note(fmt::format(format, std::forward<Args>(args)...));
}

/// One line on a terminal's stderr that says what is being done; it is wiped when the object dies.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view text);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
};

/// Results. Fails with Exit::trouble where stdout cannot take them.
void write_result(std::string_view text);

template <class... Args>
void print_result(fmt::format_string<Args...> format, Args&&... args) {
  write_result(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace exactile::program
