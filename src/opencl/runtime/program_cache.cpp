// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/program_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/environment.hpp"

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

}  // namespace

std::string binary_folder() {
  if (const auto cache = core::environment("XDG_CACHE_HOME")) return std::string(*cache) + "/exactile/opencl";
  if (const auto home = core::environment("HOME")) return std::string(*home) + "/.cache/exactile/opencl";
  return {};
}

std::optional<std::string> load_binary(std::string_view key) {
  if (binary_folder().empty()) return std::nullopt;
  std::ifstream file(path_for(key), std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string content = std::move(stream).str();
  const std::size_t key_at = content.find(key);
  if (key_at == std::string::npos) return std::nullopt;
  std::string binary = content.substr(key_at + key.size());
  if (binary.empty() || content.substr(0, key_at + key.size()) != header(key, binary)) return std::nullopt;
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
    close(descriptor);
    std::ofstream file(pattern, std::ios::binary | std::ios::trunc);
    file << header(key, binary) << binary;
    file.close();
    if (file) fs::rename(pattern, path, error);
    if (!file || error) fs::remove(pattern, error);
  } catch (...) {  // a cache that cannot be written is no trouble for the product
  }
}

}  // namespace exactile::opencl
