// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

void write_note(std::string_view text) {
  const std::string line = fmt::format("{}\n", text);
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
