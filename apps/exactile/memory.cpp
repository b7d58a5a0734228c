// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

#include "core/control_groups.hpp"
#include "failure.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

// From linux/mman.h (5.14), which older C libraries do not know; a kernel without them answers EINVAL.
constexpr int advice_populate_read = 22;
constexpr int advice_populate_write = 23;

constexpr double nothing_said = std::numeric_limits<double>::infinity();

/// The number behind a word in a file of words and numbers; the first of all behind "".
double number_in(const std::string& path, std::string_view word = "") {
  std::ifstream file(path);
  std::string read;
  while (read != word && file >> read) {
  }
  double number = 0;
  return file >> number ? number : nothing_said;
}

/// What a group's limit leaves, in bytes. Pages of files that the group holds are given up when they are needed.
double rest_of(const std::string& limit_file, const std::string& usage_file, const std::string& statistics,
               const std::string& prefix) {
  const double limit = number_in(limit_file);  // "max" is no number
  const double usage = number_in(usage_file);
  if (limit == nothing_said || usage == nothing_said) return limit;
  const double files = number_in(statistics, prefix + "inactive_file") + number_in(statistics, prefix + "active_file");
  return limit - usage + (files == nothing_said ? 0 : std::min(files, usage));
}

double rest_v2(const std::string& folder) {
  return rest_of(folder + "/memory.max", folder + "/memory.current", folder + "/memory.stat", "");
}

double rest_v1(const std::string& folder) {
  return rest_of(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes", folder + "/memory.stat",
                 "total_");
}

}  // namespace

std::int64_t available_memory() {
  const double physical = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double kernels = number_in("/proc/meminfo", "MemAvailable:") * 1024;
  const double group = core::least_group_limit("memory", rest_v2, rest_v1);
  return static_cast<std::int64_t>(std::clamp(std::min(kernels, group), 0.0, physical));
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
