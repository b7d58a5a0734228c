// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "failure.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

// From linux/mman.h (5.14), which older C libraries do not know; a kernel without them answers EINVAL.
constexpr int advice_populate_read = 22;
constexpr int advice_populate_write = 23;

std::optional<std::int64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::optional<std::int64_t> kernel_estimate() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    std::int64_t kibibytes = 0;
    if (key == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// The rest of the cgroup's limit; version 2, then 1. "max" is no number, hence no limit.
std::optional<std::int64_t> cgroup_rest() {
  constexpr std::pair<const char*, const char*> files[] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
  for (const auto& [limit_file, usage_file] : files)
    if (const auto limit = number_in(limit_file)) return *limit - number_in(usage_file).value_or(0);
  return std::nullopt;
}

}  // namespace

std::int64_t available_memory() {
  const std::int64_t physical = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const std::int64_t available = kernel_estimate().value_or(physical);
  return std::max<std::int64_t>(std::min(available, cgroup_rest().value_or(available)), 0);
}

void require_memory(std::int64_t bytes, const std::string& purpose) {
  const std::int64_t available = available_memory();
  if (bytes > available)
    fail(Exit::trouble, "{} would take {} of memory; {} are available", purpose, bytes_text(static_cast<double>(bytes)),
         bytes_text(static_cast<double>(available)));
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() { release(); }

void Mapping::release() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(size_));
  data_ = nullptr;
  size_ = 0;
}

Mapping Mapping::memory(std::int64_t bytes) {
  // An empty matrix still has an address.
  const std::int64_t size = std::max<std::int64_t>(bytes, 1);
  const auto length = static_cast<std::size_t>(size);
  void* const address = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    fail(Exit::trouble, "{} of memory could not be had: {}", bytes_text(static_cast<double>(size)),
         std::strerror(errno));
  madvise(address, length, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(address), size};
}

Mapping Mapping::file(int descriptor, std::int64_t bytes, bool writable, const std::string& name) {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const address = mmap(nullptr, static_cast<std::size_t>(bytes), protection, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) fail(Exit::trouble, "{}: cannot be mapped into memory: {}", name, std::strerror(errno));
  return {static_cast<std::byte*>(address), bytes};
}

int Mapping::populate(bool for_writing) const {
  // More than half of the memory would push out what was just brought in.
  if (data_ == nullptr || size_ > available_memory() / 2) return 0;
  const int advice = for_writing ? advice_populate_write : advice_populate_read;
  const int result = madvise(data_, static_cast<std::size_t>(size_), advice);
  return result == 0 || errno == EINVAL || errno == ENOMEM ? 0 : errno;
}

}  // namespace exactile::program
