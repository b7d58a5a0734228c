// SPDX-License-Identifier: Apache-2.0
#include "npy_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "failure.hpp"
#include "interrupt.hpp"
#include "npy_header.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

/// File names end at 255 bytes; the temporary one is longer than the target's.
constexpr std::size_t longest_name = 255;
constexpr std::size_t longest_stem = 200;

/// Where the file will really lie: replacing a symbolic link would leave the file it means, which need not be there
/// yet, as it was.
std::filesystem::path follow_links(const std::string& name) {
  constexpr int most_links = 40;  // as the system's
  std::filesystem::path path = name;
  std::error_code error;
  for (int i = 0; i < most_links; ++i) {
    if (!std::filesystem::is_symlink(path, error)) return path;
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  fail(Exit::bad_usage, "--output {}: leads through more than {} links; expected one that ends at a file", name,
       most_links);
}

void refuse_bad_target(const std::string& path, std::span<const NpyInput* const> inputs) {
  struct stat status = {};
  if (path.empty()) fail(Exit::bad_usage, "--output: the name is empty; expected a file");
  if (stat(path.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) fail(Exit::bad_usage, "--output {}: is a folder; expected the name of a file", path);
  if (!S_ISREG(status.st_mode))
    fail(Exit::bad_usage, "--output {}: exists and is not a regular file; expected a name that is free or a file",
         path);
  if (access(path.c_str(), W_OK) != 0)
    fail(Exit::bad_usage, "--output {}: exists and cannot be replaced: {}", path, std::strerror(errno));
  for (const NpyInput* input : inputs)
    if (input->is_file(status.st_dev, status.st_ino))
      fail(Exit::bad_usage, "--output {}: is the same file as the input {}; expected another one", path, input->path());
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// What the umask leaves to a new file.
mode_t usual_permissions() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666U & ~mask;
}

/// Gives the file those of the one that it replaces, if it does, and its owner and group where that is permitted.
/// Where the owner cannot stay the old permissions alone might shut him out.
void keep_permissions(int file, const std::filesystem::path& target) {
  constexpr auto as_it_is = static_cast<uid_t>(-1);
  struct stat old = {};
  if (stat(target.c_str(), &old) != 0) {
    fchmod(file, usual_permissions());
    return;
  }
  [[maybe_unused]] const bool same_group = fchown(file, as_it_is, old.st_gid) == 0;
  const bool same_owner = fchown(file, old.st_uid, static_cast<gid_t>(-1)) == 0;
  fchmod(file, (old.st_mode & 0777U) | (same_owner ? 0U : usual_permissions()));
}

/// What temporary names beside the target begin with.
std::string temporary_stem(const std::filesystem::path& target) {
  const std::string stem = target.filename().string().substr(0, longest_stem);
  return (folder_of(target) / ("." + stem + ".tmp-")).string();
}

/// The name by which a file that has none can be given one.
std::string name_of_descriptor(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

/// A file without a name vanishes with the process, whatever ends it. Not every file system has such files, and without
/// /proc it could not be given a name.
FileDescriptor nameless_file(const std::filesystem::path& folder) {
  constexpr mode_t until_it_has_those_of_its_place = 0600;
  FileDescriptor file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, until_it_has_those_of_its_place));
  if (!file.valid() || access(name_of_descriptor(file.get()).c_str(), F_OK) != 0) return {};
  return file;
}

bool give_name(int descriptor, const std::string& name) {
  return linkat(AT_FDCWD, name_of_descriptor(descriptor).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

[[noreturn]] void fail_for_space(const std::string& path, std::int64_t bytes, const std::string& reason) {
  fail(Exit::trouble, "--output {}: its {} cannot be stored: {}", path, bytes_text(static_cast<double>(bytes)), reason);
}

}  // namespace

NpyOutput::NpyOutput(const std::string& path, std::span<const NpyInput* const> inputs) : path_(path) {
  if (path == "-")
    fail(Exit::bad_usage, "--output -: an array goes to a file; expected its name (./- for a file that is called -)");
  refuse_bad_target(path, inputs);
  target_ = follow_links(path);
  // The last step of all would be the first to notice.
  if (const std::size_t length = target_.filename().string().size(); length > longest_name)
    fail(Exit::bad_usage, "--output {}: the name has {} bytes; expected at most {}", path, length, longest_name);
  file_ = nameless_file(folder_of(target_));
  if (!file_.valid()) make_named_file();
  keep_permissions(file_.get(), target_);
}

NpyOutput::~NpyOutput() {
  if (temporary_.empty()) return;
  std::remove(temporary_.c_str());
  set_temporary_file("");
}

void NpyOutput::make_named_file() {
  std::string name = temporary_stem(target_) + "XXXXXX";
  const SignalBlock no_interruption_between_making_and_remembering;
  file_ = FileDescriptor(mkostemp(name.data(), O_CLOEXEC));
  if (!file_.valid()) {
    const int error = errno;
    const Exit exit_code = error == ENOSPC || error == EDQUOT || error == EIO ? Exit::trouble : Exit::bad_usage;
    fail(exit_code, "--output {}: no file can be made in the folder {}: {}", path_, folder_of(target_).string(),
         std::strerror(error));
  }
  temporary_ = name;
  set_temporary_file(temporary_);
}

void NpyOutput::reserve(std::int64_t bytes) {
  // Asked first because a file system may hand out all it has before it says that this was not enough.
  struct statvfs space = {};
  if (fstatvfs(file_.get(), &space) == 0) {
    const double available = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
    if (static_cast<double>(bytes) > available)
      fail_for_space(path_, bytes, fmt::format("the disk has only {} free", bytes_text(available)));
  }
  int error = 0;
  do error = posix_fallocate(file_.get(), 0, bytes);
  while (error == EINTR);
  if (error == EINVAL || error == EOPNOTSUPP) error = ftruncate(file_.get(), bytes) == 0 ? 0 : errno;
  if (error != 0) fail_for_space(path_, bytes, std::strerror(error));
}

void NpyOutput::allocate(ElementType type, const std::vector<std::int64_t>& shape) {
  const std::string header = format_npy_header(type, shape);
  data_offset_ = static_cast<std::int64_t>(header.size());
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape)
    elements = product_of_sizes(elements, extent, "the result's number of elements");
  const std::int64_t bytes = product_of_sizes(elements, size_in_bytes(type), "the result's size in bytes");
  std::int64_t total = 0;
  if (__builtin_add_overflow(bytes, data_offset_, &total)) fail_for_space(path_, bytes, "no file is that long");
  reserve(total);
  mapping_ = Mapping::file(file_.get(), total, true, path_);
  if (const int error = mapping_.populate(true)) fail_for_space(path_, bytes, std::strerror(error));
  std::copy_n(reinterpret_cast<const std::byte*>(header.data()), header.size(), mapping_.data());
}

void NpyOutput::commit() {
  mapping_.release();
  const SignalBlock no_interruption_between_two_names;
  if (temporary_.empty()) {
    if (give_name(file_.get(), target_.string())) return;
    if (errno == EEXIST) link_beside();
  }
  if (temporary_.empty() || std::rename(temporary_.c_str(), target_.c_str()) != 0)
    fail(Exit::trouble, "--output {}: cannot be put in place: {}", path_, std::strerror(errno));
  temporary_.clear();
  set_temporary_file("");
}

void NpyOutput::link_beside() {
  constexpr int most_attempts = 100;
  for (int i = 0; i < most_attempts; ++i) {
    const std::string name = fmt::format("{}{}-{}", temporary_stem(target_), getpid(), i);
    if (give_name(file_.get(), name)) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) return;
  }
}

}  // namespace exactile::program
