// SPDX-License-Identifier: Apache-2.0
#include "tuning/table/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/file.hpp"

namespace exactile::tuning {
namespace {

namespace fs = std::filesystem;

Status file_trouble(std::string_view what, const std::string& path) {
  return {StatusCode::invalid_argument, fmt::format("tuning file {}: {}: {}", path, what, std::strerror(errno))};
}

/// Where a name leads: what is renamed would take the place of a link.
std::string place_of(const std::string& name) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(name, error);
  return error ? name : target.string();
}

/// Rows can be kept where there is nothing yet, or a file of them; devices, pipes and foreign files stay as they are.
Status check_place(const FileKind& kind, const std::string& path) {
  std::error_code error;
  const auto is_refused = [&](std::string_view what) {
    return Status(StatusCode::invalid_argument,
                  fmt::format("tuning file {}: {}; expected tuning rows or nothing. It is left as it is", path, what));
  };
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return fs::is_symlink(fs::symlink_status(path, error)) ? is_refused("is a link to nothing") : Status();
  if (!fs::is_regular_file(status)) return is_refused("is no file");
  const auto text = core::content_of_file(path);
  if (!text) return file_trouble("cannot be read", path);
  if (text->empty() || text->starts_with(kind.beginning) || kind.has_rows(*text)) return {};
  return is_refused("is a file of something else");
}

/// Held by the one process that writes at a time. The lock is on a file beside, because the file itself is replaced.
class WriteLock {
 public:
  explicit WriteLock(const std::string& path) : descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) return;
    int result = 0;
    do result = flock(descriptor_, LOCK_EX);
    while (result != 0 && errno == EINTR);
    held_ = result == 0;
  }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  ~WriteLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] bool held() const { return held_; }

 private:
  int descriptor_;
  bool held_ = false;
};

}  // namespace

std::string content_of(const std::string& path) { return core::content_of_file(path).value_or(std::string()); }

Status check_file_of(const FileKind& kind, const std::string& name) {
  const std::string path = place_of(name);
  if (Status s = check_place(kind, path); !s.ok()) return s;
  fs::path folder = fs::absolute(path).parent_path();
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, error)) errno = ENOTDIR;
  if (!fs::is_directory(folder, error) || access(folder.c_str(), W_OK | X_OK) != 0)
    return file_trouble("cannot be written", path);
  return {};
}

Status renew_file(const FileKind& kind, const std::string& name,
                  const std::function<std::string(const std::string& old)>& renewed) {
  std::error_code error;
  const std::string path = place_of(name);
  if (Status s = check_place(kind, path); !s.ok()) return s;
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder, error);
  const WriteLock lock(path + ".lock");
  if (!lock.held()) return file_trouble("cannot be locked", path);
  const std::string text = renewed(content_of(path));
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return file_trouble("cannot be written", temporary);
  const bool written = core::write_all(descriptor, text) && fsync(descriptor) == 0;
  const int failure = errno;
  close(descriptor);
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (!written) errno = failure;
  Status trouble = file_trouble("cannot be written", path);
  unlink(temporary.c_str());
  return trouble;
}

}  // namespace exactile::tuning
