// SPDX-License-Identifier: Apache-2.0
#include "tuning/table/table.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "core/environment.hpp"
#include "tuning/table/shipped.hpp"

namespace exactile::tuning {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view heading =
    "# exactile tuning rows: kernel, version, types, shape class, device, driver, operations/s, parameters, checksum\n";

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream stream;
  stream << file.rdbuf();
  return std::move(stream).str();
}

const std::vector<Row>& shipped_rows() {
  static const auto& rows = *new std::vector<Row>(parse_rows(opencl_tsv).rows);
  return rows;
}

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
Status check_place(const std::string& path) {
  std::error_code error;
  const auto is_refused = [&](std::string_view what) {
    return Status(StatusCode::invalid_argument,
                  fmt::format("tuning file {}: {}; expected tuning rows or nothing. It is left as it is", path, what));
  };
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return fs::is_symlink(fs::symlink_status(path, error)) ? is_refused("is a link to nothing") : Status();
  if (!fs::is_regular_file(status)) return is_refused("is no file");
  if (!std::ifstream(path).is_open()) return file_trouble("cannot be read", path);
  const std::string text = content_of(path);
  if (text.empty() || text.starts_with(heading.substr(0, heading.find(':'))) || !parse_rows(text).rows.empty())
    return {};
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

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// The best of the rows that fit, at one level of device names and classes.
const Row* best_of(const std::vector<Row>& rows, const Query& query, const std::string& types,
                   const std::string& device, std::string_view shape_class,
                   const std::function<bool(const Parameters&)>& is_legal) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    const Key& k = row.key;
    const bool fits = k.kernel == query.kernel && k.version == query.version && k.types == types &&
                      k.device == device && k.shape_class == shape_class &&
                      (k.driver == "any" || k.driver == query.driver) && row.rate > 0;
    if (fits && (best == nullptr || row.rate > best->rate) && is_legal(row.parameters)) best = &row;
  }
  return best;
}

/// The file's rows, parsed again only when it has changed; never null.
std::shared_ptr<const Rows> rows_of(const std::string& path) {
  struct Seen {
    ino_t inode = 0;
    off_t size = -1;
    timespec changed{};
    std::shared_ptr<const Rows> rows;
  };
  static std::mutex mutex;
  static auto& files = *new std::map<std::string, Seen>;
  struct stat now = {};
  if (path.empty() || stat(path.c_str(), &now) != 0 || !S_ISREG(now.st_mode)) return std::make_shared<const Rows>();
  const std::lock_guard lock(mutex);
  Seen& seen = files[path];
  const bool same = seen.inode == now.st_ino && seen.size == now.st_size && seen.changed.tv_sec == now.st_mtim.tv_sec &&
                    seen.changed.tv_nsec == now.st_mtim.tv_nsec;
  if (!same) seen = {now.st_ino, now.st_size, now.st_mtim, std::make_shared<const Rows>(parse_rows(content_of(path)))};
  return seen.rows;
}

}  // namespace

std::string user_file() {
  if (const auto path = core::environment("EXACTILE_TUNING_DB")) return std::string(*path);
  const auto folder = core::cache_folder();
  return folder ? *folder + "/tuning.tsv" : std::string();
}

Rows read_file(const std::string& path) { return *rows_of(path); }

bool has_user_rows() { return !rows_of(user_file())->rows.empty(); }

std::optional<double> measured_rate(const Query& query) {
  const auto user = rows_of(user_file());
  const Row* best = best_of(user->rows, query, query.types.front(), query.devices.front(), query.shape_class,
                            [](const Parameters&) { return true; });
  return best == nullptr ? std::nullopt : std::optional(best->rate);
}

std::vector<Row> rows_of_class(std::string_view types, std::string_view shape_class) {
  std::vector<Row> found;
  const auto user = rows_of(user_file());
  std::ranges::copy_if(user->rows, std::back_inserter(found), [&](const Row& row) {
    return row.rate > 0 && row.key.shape_class == shape_class && row.key.types == types;
  });
  return found;
}

std::optional<Found> find(const Query& query, const std::function<bool(const Parameters&)>& is_legal) {
  const auto user = rows_of(user_file());
  const std::string note = user->unreadable_lines > 0 ? fmt::format("; {} unreadable lines of {} left out",
                                                                    user->unreadable_lines, user_file())
                                                      : "";
  for (const std::string& types : query.types) {
    if (const Row* row = best_of(user->rows, query, types, query.devices.front(), query.shape_class, is_legal))
      return Found{row->parameters, fmt::format("tuned here, {} {}{}", types, query.shape_class, note)};
    for (const std::string& device : query.devices)
      for (const std::string_view shape_class : {std::string_view(query.shape_class), std::string_view("any")})
        if (const Row* row = best_of(shipped_rows(), query, types, device, shape_class, is_legal))
          return Found{row->parameters, fmt::format("shipped for {}, {} {}{}", device, types, shape_class, note)};
  }
  return std::nullopt;
}

Status check_file(const std::string& file) {
  const std::string path = place_of(file);
  if (Status s = check_place(path); !s.ok()) return s;
  fs::path folder = fs::absolute(path).parent_path();
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, error)) errno = ENOTDIR;
  if (!fs::is_directory(folder, error) || access(folder.c_str(), W_OK | X_OK) != 0)
    return file_trouble("cannot be written", path);
  return {};
}

Status add_row(const std::string& file, const Row& row) {
  std::error_code error;
  const std::string path = place_of(file);
  if (Status s = check_place(path); !s.ok()) return s;
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder, error);
  const WriteLock lock(path + ".lock");
  if (!lock.held()) return file_trouble("cannot be locked", path);
  std::string text(heading);
  for (const Row& kept : parse_rows(content_of(path)).rows)
    if (!(kept.key == row.key && kept.parameters == row.parameters)) text += to_line(kept);
  text += to_line(row);
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return file_trouble("cannot be written", temporary);
  const bool written = write_all(descriptor, text) && fsync(descriptor) == 0;
  const int failure = errno;
  close(descriptor);
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (!written) errno = failure;
  Status trouble = file_trouble("cannot be written", path);
  unlink(temporary.c_str());
  return trouble;
}

}  // namespace exactile::tuning
