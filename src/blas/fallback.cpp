// SPDX-License-Identifier: Apache-2.0
#include "blas/fallback.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

/// By the priorities of Debian's alternatives, then as other systems lay them out. Absolute, so that neither the
/// working directory nor LD_LIBRARY_PATH decides.
constexpr std::array places{"/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3",
                            "/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3",
                            "/usr/lib/x86_64-linux-gnu/openblas-serial/libblas.so.3",
                            "/usr/lib/x86_64-linux-gnu/blis-pthread/libblas.so.3",
                            "/usr/lib/x86_64-linux-gnu/blis-openmp/libblas.so.3",
                            "/usr/lib/x86_64-linux-gnu/blis-serial/libblas.so.3",
                            "/usr/lib/x86_64-linux-gnu/atlas/libblas.so.3",
                            "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3",
                            "/usr/lib64/libopenblas.so.0",
                            "/usr/lib64/libblas.so.3",
                            "/usr/lib/libopenblas.so.0",
                            "/usr/lib/libblas.so.3"};

struct Fallback {
  void* handle = nullptr;
  std::string where;   ///< it was found
  std::string looked;  ///< one place a line, with the reason why not
};

/// What the program said of threads, and who else has to know.
std::atomic<int> thread_setting{0};
std::atomic<void (*)(int)> tell_threads{nullptr};

Fallback* fallback = nullptr;  // never destroyed: routines are called until the process ends
pthread_once_t opened = PTHREAD_ONCE_INIT;

void miss(const std::string& place, const char* reason) {
  fallback->looked += "\n  " + place + ": " + (reason == nullptr ? "cannot be opened" : reason);
}

/// A library that is this one under another name would send calls in a circle.
bool take(const std::string& path) {
  // Not RTLD_DEEPBIND: the fallback's routines must reach the program's own xerbla_.
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    miss(path, dlerror());
    return false;
  }
  if (dlsym(handle, "exactile_blas_version") != nullptr) {
    miss(path, "is this library itself");
    dlclose(handle);
    return false;
  }
  if (dlsym(handle, "daxpy_") == nullptr) {
    miss(path, "is no BLAS: has no daxpy_");
    dlclose(handle);
    return false;
  }
  fallback->handle = handle;
  fallback->where = path;
  return true;
}

void find() {
  fallback = new Fallback;
  if (const char* own = environment("EXACTILE_BLAS_FALLBACK"); own != nullptr) {
    // Who names a BLAS means this one, and no other in its place.
    if (*own == '/')
      take(own);
    else
      miss(std::string("EXACTILE_BLAS_FALLBACK=") + own, "expected an absolute path");
    return;
  }
  fallback->looked = "\n  EXACTILE_BLAS_FALLBACK: is not set";
  if (dlsym(RTLD_NEXT, "daxpy_") != nullptr) {
    fallback->handle = RTLD_NEXT;
    fallback->where = "the libraries that the program loads behind this one";
    return;
  }
  miss("the libraries that the program loads behind this one", "none is a BLAS");
  for (const char* place : places)
    if (take(place)) return;
}

void open() {
  find();
  if (fallback->handle == nullptr) return;
  tell_threads = reinterpret_cast<void (*)(int)>(dlsym(fallback->handle, "openblas_set_num_threads"));
  if (const int count = thread_setting; count > 0) set_fallback_threads(count);
}

}  // namespace

void* need_fallback(const char* name) noexcept {
  pthread_once(&opened, open);
  void* routine = fallback->handle == nullptr ? nullptr : dlsym(fallback->handle, name);
  if (routine != nullptr) {
    if (verbose) std::fprintf(stderr, "exactile: %s is that of %s\n", name, fallback->where.c_str());
    return routine;
  }
  if (fallback->handle != nullptr)
    std::fprintf(stderr, "exactile: %s was called; this library forwards it, and %s has no such routine.\n", name,
                 fallback->where.c_str());
  else
    std::fprintf(stderr,
                 "exactile: %s was called; this library forwards it, and there is no other BLAS. Looked at:%s\n"
                 "Set EXACTILE_BLAS_FALLBACK to the absolute path of one, or install libblas3.\n",
                 name, fallback->looked.c_str());
  std::_Exit(127);  // as the loader's own "symbol lookup error"
}

void* openblas_routine(const char* name) noexcept {
  pthread_once(&opened, open);
  if (fallback->handle == nullptr || dlsym(fallback->handle, "openblas_get_config") == nullptr) return nullptr;
  return dlsym(fallback->handle, name);
}

const char* fallback_name() noexcept { return fallback->where.c_str(); }

void set_fallback_threads(int count) noexcept {
  thread_setting = count;
  if (auto* tell = tell_threads.load(); tell != nullptr) tell(count);
}

}  // namespace exactile::blas

/// Called by the stubs (stubs.S) with the name at hand.
extern "C" __attribute__((visibility("hidden"))) void* exactile_blas_resolve(const char* name) {
  return exactile::blas::need_fallback(name);
}
