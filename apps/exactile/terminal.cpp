// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "failure.hpp"

namespace exactile::program {

void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    // The lowest free number is given out, so it becomes this one. Open for the wrong direction: writing fails as
    // before.
    [[maybe_unused]] const int descriptor = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

bool colour_allowed() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return isatty(STDOUT_FILENO) == 1;
}

std::string bold(std::string_view text) {
  return colour_allowed() ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string coloured(std::string_view text, Colour colour) {
  return colour_allowed() ? fmt::format("\x1b[{}m{}\x1b[0m", static_cast<int>(colour), text) : std::string(text);
}

int terminal_columns() {
  winsize size{};
  return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string bar(double fraction, int width) {
  std::string_view locale;
  for (const char* const name : {"LANG", "LC_CTYPE", "LC_ALL"})  // the last one that is set counts
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') locale = value;
  const bool is_utf8 = locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  const auto eighths = static_cast<int>(std::lround(8 * width * std::clamp(fraction, 0.0, 1.0)));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += is_utf8 ? "\u2588" : "#";
  // U+2589 to U+258f are seven eighths to one.
  if (is_utf8 && eighths % 8 > 0) text += fmt::format("\xe2\x96{}", static_cast<char>(0x90 - eighths % 8));
  return text;
}

std::string printable(std::string_view text) {
  std::string clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // In UTF-8 0xc2 and one of 0x80 to 0x9f are the control characters beyond ASCII.
    const bool is_wide =
        byte == 0xc2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
    if (byte < 0x20 || byte == 0x7f || is_wide)
      clean += fmt::format("\\x{:02x}", byte);
    else
      clean += text[i];
    if (is_wide) clean += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
  }
  return clean;
}

void write_note(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::string_view first = text.substr(0, text.find('\n'));
    line += printable(first) + "\n";
    text.remove_prefix(std::min(first.size() + 1, text.size()));
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::show(std::string_view text) {
  if (!terminal_) return;
  clear();
  // Longer than a line it could not be wiped again.
  const std::string line(text.substr(0, 78));
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

void write_result(std::string_view text) {
  // Flushed at once: a result that an interruption or a full disk would swallow must be known.
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail(Exit::trouble, "writing to standard output failed: {}", std::strerror(errno));
}

}  // namespace exactile::program
