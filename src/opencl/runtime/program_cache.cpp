// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/program_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/environment.hpp"
#include "core/file.hpp"

namespace exactile::opencl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "exactile OpenCL program 1\n";

/// FNV-1a; tells files apart and notices damage, and need not withstand an adversary: the folder is the user's own.
std::uint64_t digest(std::string_view text, std::uint64_t start = 0xcbf29ce484222325U) {
  std::uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

fs::path path_for(std::string_view key) {
  return fs::path(binary_folder()) / fmt::format("{:016x}{:016x}.bin", digest(key), digest(key, 0x9e3779b97f4a7c15U));
}

/// What precedes the binary in its file.
std::string header(std::string_view key, std::string_view binary) {
  return fmt::format("{}{} {} {:016x}\n{}", magic, key.size(), binary.size(), digest(binary), key);
}

/// What the folder may hold after a file is added.
constexpr std::uintmax_t most_bytes = std::uintmax_t{256} << 20;

}  // namespace

void remove_oldest_binaries(std::uintmax_t bytes_to_keep) {
  struct File {
    fs::path path;
    std::uintmax_t bytes;
    fs::file_time_type used;
  };
  std::vector<File> files;
  std::error_code error;  // a file that another process has just removed is none
  // Unfinished files too, which a process that was killed has left; the one that is written now is the newest.
  for (const fs::directory_entry& entry : fs::directory_iterator(binary_folder(), error))
    if (entry.path().filename().string().find(".bin") != std::string::npos) {
      const std::uintmax_t bytes = entry.file_size(error);
      if (!error) files.push_back({entry.path(), bytes, entry.last_write_time(error)});
    }
  std::ranges::sort(files, std::greater{}, &File::used);
  std::uintmax_t sum = 0;
  for (const File& file : files)
    if ((sum += file.bytes) > bytes_to_keep) fs::remove(file.path, error);
}

std::string binary_folder() {
  const auto folder = core::cache_folder();
  return folder ? *folder + "/opencl" : std::string();
}

std::optional<std::string> load_binary(std::string_view key) {
  if (binary_folder().empty()) return std::nullopt;
  const std::string content = core::content_of_file(path_for(key)).value_or(std::string());
  if (!content.starts_with(magic)) return std::nullopt;
  const std::size_t sizes_end = content.find('\n', magic.size());
  if (sizes_end == std::string::npos || content.size() - sizes_end - 1 <= key.size()) return std::nullopt;
  std::string binary = content.substr(sizes_end + 1 + key.size());
  if (content.substr(0, content.size() - binary.size()) != header(key, binary)) return std::nullopt;
  std::error_code error;  // an unwritable folder is read all the same
  fs::last_write_time(path_for(key), fs::file_time_type::clock::now(), error);
  return binary;
}

void store_binary(std::string_view key, std::string_view binary) noexcept {
  try {
    if (binary_folder().empty() || binary.empty()) return;
    std::error_code error;
    fs::create_directories(binary_folder(), error);
    const fs::path path = path_for(key);
    std::string pattern = path.string() + ".XXXXXX";
    const int descriptor = mkstemp(pattern.data());
    if (descriptor < 0) return;
    const bool is_whole = core::write_all(descriptor, header(key, binary)) && core::write_all(descriptor, binary);
    close(descriptor);
    if (is_whole) fs::rename(pattern, path, error);
    if (!is_whole || error) fs::remove(pattern, error);
    remove_oldest_binaries(most_bytes);
  } catch (...) {  // a cache that cannot be written is no trouble for the product
  }
}

}  // namespace exactile::opencl
