// SPDX-License-Identifier: Apache-2.0
#include "cublas/next.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstring>

namespace exactile::cublas {
namespace {

using Path = std::array<char, 4096>;

struct Search {
  const char* file;  ///< "libcublas.so." without a version
  Path path{};
};

/// Only takes the path: to open a library here would take the loader's locks in the wrong order.
int look_at(dl_phdr_info* object, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  const char* slash = std::strrchr(object->dlpi_name, '/');
  const char* file = slash == nullptr ? object->dlpi_name : slash + 1;
  const std::size_t length = std::strlen(object->dlpi_name);
  if (std::strncmp(file, search.file, std::strlen(search.file)) != 0 || length >= search.path.size()) return 0;
  std::memcpy(search.path.data(), object->dlpi_name, length);
  return 1;
}

}  // namespace

/// What the loader finds behind this library; else, as a program may have opened its cuBLAS for itself alone, in the
/// one that is loaded. None is ever opened here.
void* NextRoutine::find() const noexcept {
  if (void* behind = dlsym(RTLD_NEXT, name_)) return behind;
  const bool is_lt = std::strncmp(name_, "cublasLt", 8) == 0;
  Search search{.file = is_lt ? "libcublasLt.so." : "libcublas.so."};
  if (dl_iterate_phdr(look_at, &search) == 0) return nullptr;
  void* const library = dlopen(search.path.data(), RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name_);
}

}  // namespace exactile::cublas
