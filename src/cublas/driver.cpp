// SPDX-License-Identifier: Apache-2.0
#include "cublas/driver.hpp"

#include <dlfcn.h>

#include <optional>

namespace exactile::cublas {
namespace {

std::optional<Driver> find() noexcept {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  bool is_complete = true;
  const auto take = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    is_complete = is_complete && function != nullptr;
  };
  Driver found{};
  take(found.current_device, "cuCtxGetDevice");
  take(found.is_capturing, "cuStreamIsCapturing");
  take(found.allocate_in_order, "cuMemAllocAsync");
  take(found.free_in_order, "cuMemFreeAsync");
  take(found.free, "cuMemFree_v2");
  take(found.create_event, "cuEventCreate");
  take(found.record, "cuEventRecord");
  take(found.wait, "cuStreamWaitEvent");
  take(found.destroy_event, "cuEventDestroy_v2");
  return is_complete ? std::optional(found) : std::nullopt;
}

}  // namespace

const Driver* driver() noexcept {
  static const std::optional<Driver> found = find();
  return found ? &*found : nullptr;
}

}  // namespace exactile::cublas
