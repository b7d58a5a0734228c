// SPDX-License-Identifier: Apache-2.0
#include "rivals/shared_object.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace exactile::bench {

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

}  // namespace exactile::bench
