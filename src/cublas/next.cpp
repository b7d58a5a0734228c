// SPDX-License-Identifier: Apache-2.0
#include "cublas/next.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace exactile::cublas {
namespace {

struct Search {
  const char* file;  ///< "libcublas.so." without a version
  const char* name;
  void* found = nullptr;
};

int look_into(dl_phdr_info* object, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  const char* slash = std::strrchr(object->dlpi_name, '/');
  const char* file = slash == nullptr ? object->dlpi_name : slash + 1;
  if (std::strncmp(file, search.file, std::strlen(search.file)) != 0) return 0;
  void* const library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) search.found = dlsym(library, search.name);
  return search.found == nullptr ? 0 : 1;
}

}  // namespace

/// What the loader finds behind this library; else, as a program may have opened its cuBLAS for itself alone, in the
/// one that is loaded. None is ever opened here.
void* NextRoutine::find() const noexcept {
  if (void* behind = dlsym(RTLD_NEXT, name_)) return behind;
  const bool is_lt = std::strncmp(name_, "cublasLt", 8) == 0;
  Search search{.file = is_lt ? "libcublasLt.so." : "libcublas.so.", .name = name_};
  dl_iterate_phdr(look_into, &search);
  return search.found;
}

}  // namespace exactile::cublas
