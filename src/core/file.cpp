// SPDX-License-Identifier: Apache-2.0
#include "core/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace exactile::core {

std::optional<std::string> content_of_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string content;
  std::array<char, 4096> some;
  ssize_t count = 0;
  while ((count = read(descriptor, some.data(), some.size())) > 0 || (count < 0 && errno == EINTR))
    if (count > 0) content.append(some.data(), static_cast<std::size_t>(count));
  close(descriptor);
  return count == 0 ? std::optional(std::move(content)) : std::nullopt;
}

bool write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace exactile::core
