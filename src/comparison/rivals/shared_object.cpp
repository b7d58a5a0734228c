// SPDX-License-Identifier: Apache-2.0
#include "comparison/rivals/shared_object.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace exactile::comparison {

// RTLD_LOCAL keeps apart the many libraries that all define cblas_sgemm. RTLD_DEEPBIND is needed as well because MKL
// makes its own parts global: BLIS would otherwise find MKL's sgemm_ before its own, and MKL would be timed twice.
// Nothing is ever closed: a library whose worker threads still run must not be unmapped.
SharedObject::SharedObject(std::string path)
    : path_(std::move(path)), handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)) {
  if (handle_ == nullptr) throw std::runtime_error("cannot load " + path_ + ": " + dlerror());
}

void* SharedObject::address(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

void* SharedObject::required_address(const std::string& symbol) const {
  void* found = address(symbol);
  if (found == nullptr) throw std::runtime_error(path_ + " has no symbol " + symbol);
  return found;
}

std::string SharedObject::file_of(const std::string& symbol) const {
  Dl_info info{};
  if (dladdr(address(symbol), &info) == 0 || info.dli_fname == nullptr) return path_;
  std::error_code no_such_file;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, no_such_file);
  return no_such_file ? std::string(info.dli_fname) : file.string();
}

}  // namespace exactile::comparison
