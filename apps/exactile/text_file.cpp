// SPDX-License-Identifier: Apache-2.0
#include "text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "failure.hpp"
#include "interrupt.hpp"
#include "units.hpp"

namespace exactile::program {

std::string read_text(const std::string& path) {
  constexpr std::size_t largest = std::size_t{64} << 20;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail(Exit::bad_input, "{}: is a folder; expected a file", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(Exit::bad_input, "{}: cannot be read: {}", path, std::strerror(errno));
  std::string text;
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), std::ssize(block)) || file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > largest)
      fail(Exit::bad_input, "{}: is larger than {}; expected less", path, bytes_text(static_cast<double>(largest)));
  }
  return text;
}

void write_text(const std::string& path, std::string_view text) {
  const std::string beside = path + ".part";
  set_temporary_file(beside);
  errno = 0;
  std::ofstream file(beside, std::ios::binary);
  file << text;
  file.close();
  const bool kept = file && std::rename(beside.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (!kept) std::remove(beside.c_str());
  set_temporary_file("");
  if (!kept) fail(Exit::trouble, "{}: cannot be written: {}", path, std::strerror(error));
}

}  // namespace exactile::program
