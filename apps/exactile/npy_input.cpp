// SPDX-License-Identifier: Apache-2.0
#include "npy_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "failure.hpp"
#include "file_descriptor.hpp"

namespace exactile::program {
namespace {

std::vector<std::int64_t> strides_of(const NpyHeader& header) {
  const std::size_t rank = header.shape.size();
  std::vector<std::int64_t> strides(rank);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t dimension = header.fortran_order ? i : rank - 1 - i;
    strides[dimension] = stride;
    // The header's check has multiplied all of them with zeros taken as ones, so this fits.
    stride *= std::max<std::int64_t>(header.shape[dimension], 1);
  }
  return strides;
}

/// What an address of this type must be a multiple of: a complex number is two reals.
std::int64_t alignment_of(ElementType type) { return size_in_bytes(type) / (is_complex(type) ? 2 : 1); }

}  // namespace

NpyInput::NpyInput(const std::string& path) : path_(path) {
  // Opening a named pipe would otherwise wait for its writer.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) fail(Exit::bad_input, "{}: cannot be opened: {}", path, std::strerror(errno));
  map(file.get());
}

void NpyInput::map(int descriptor) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) fail(Exit::bad_input, "{}: {}", path_, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(Exit::bad_input, "{}: is a folder; expected an .npy file", path_);
  if (!S_ISREG(status.st_mode))
    fail(Exit::bad_input, "{}: is not a regular file; only those can be mapped into memory", path_);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (status.st_size == 0) fail(Exit::bad_input, "{}: the file is empty; expected an .npy file", path_);

  mapping_ = Mapping::file(descriptor, status.st_size, false, path_);
  header_ = parse_npy_header({mapping_.data(), static_cast<std::size_t>(mapping_.size())}, path_);
  strides_ = strides_of(header_);
  data_ = mapping_.data() + header_.data_offset;
  if (header_.stored.needs_conversion())
    convert_elements();
  else if (header_.data_offset % alignment_of(type()) != 0)
    copy_to_aligned_memory(descriptor);
}

void NpyInput::widen() {
  const StoredType wide = widened(header_.stored);
  if (wide.type == type()) return;
  header_.stored = wide;
  convert_elements();
}

void NpyInput::convert_elements() {
  const std::int64_t count = header_.data_bytes / header_.stored.bytes;
  const std::int64_t bytes = count * size_in_bytes(type());
  require_memory(bytes, fmt::format("{}: its data is converted to {} and", path_, to_string(type())));
  Mapping memory = Mapping::memory(bytes);
  convert(header_.stored, count, data_, memory.data());
  header_.stored.big_endian = false;
  mapping_ = std::move(memory);
  data_ = mapping_.data();
}

void NpyInput::copy_to_aligned_memory(int descriptor) {
  require_memory(header_.data_bytes, path_ + ": its data is not aligned and");
  Mapping memory = Mapping::memory(header_.data_bytes);
  for (std::int64_t done = 0; done < header_.data_bytes;) {
    const ssize_t count = pread(descriptor, memory.data() + done, static_cast<std::size_t>(header_.data_bytes - done),
                                header_.data_offset + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      fail(Exit::bad_input, "{}: cannot be read: {}", path_, count < 0 ? std::strerror(errno) : "it shrank");
    done += count;
  }
  mapping_ = std::move(memory);
  data_ = mapping_.data();
}

void NpyInput::read_in() {
  if (const int error = mapping_.populate(false))
    fail(Exit::bad_input, "{}: cannot be read: {}", path_, std::strerror(error));
}

}  // namespace exactile::program
