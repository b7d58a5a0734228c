// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/environment.hpp"

namespace exactile::opencl {
namespace {

struct Loaded {
  Api functions;
  std::string trouble;  ///< empty where all functions are there
};

std::string last_loader_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

/// The library stays loaded: drivers do not survive being unloaded while their threads run.
Loaded load() {
  Loaded loaded;
  // PoCL asks /sys for the processors and ends the process where it finds none.
  if (access("/sys/devices/system/cpu", F_OK) != 0) {
    loaded.trouble = "/sys is not mounted, and an OpenCL driver for the processor ends the process without it";
    return loaded;
  }
  const std::string name(core::environment("EXACTILE_OPENCL_LIBRARY").value_or("libOpenCL.so.1"));
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.trouble = fmt::format("no OpenCL loader: {}", last_loader_error());
    return loaded;
  }
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (function == nullptr && loaded.trouble.empty())
      loaded.trouble = fmt::format("{} has no {}: expected OpenCL 1.2 or newer", name, symbol);
  };
#define EXACTILE_FIND(name) find(loaded.functions.name, #name);
  EXACTILE_OPENCL_FUNCTIONS(EXACTILE_FIND)
#undef EXACTILE_FIND
  return loaded;
}

const Loaded& loaded() {
  static const auto& once = *new Loaded(load());
  return once;
}

}  // namespace

const Api* api() { return loaded().trouble.empty() ? &loaded().functions : nullptr; }

std::string_view why_no_api() { return loaded().trouble; }

std::string error_name(cl_int error) {
  const char* name = "unknown error";
  switch (error) {
#define EXACTILE_NAME(code) \
  case code: name = #code; break;
    EXACTILE_NAME(CL_SUCCESS)
    EXACTILE_NAME(CL_DEVICE_NOT_FOUND)
    EXACTILE_NAME(CL_DEVICE_NOT_AVAILABLE)
    EXACTILE_NAME(CL_COMPILER_NOT_AVAILABLE)
    EXACTILE_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    EXACTILE_NAME(CL_OUT_OF_RESOURCES)
    EXACTILE_NAME(CL_OUT_OF_HOST_MEMORY)
    EXACTILE_NAME(CL_BUILD_PROGRAM_FAILURE)
    EXACTILE_NAME(CL_INVALID_VALUE)
    EXACTILE_NAME(CL_INVALID_DEVICE)
    EXACTILE_NAME(CL_INVALID_CONTEXT)
    EXACTILE_NAME(CL_INVALID_COMMAND_QUEUE)
    EXACTILE_NAME(CL_INVALID_MEM_OBJECT)
    EXACTILE_NAME(CL_INVALID_BINARY)
    EXACTILE_NAME(CL_INVALID_BUILD_OPTIONS)
    EXACTILE_NAME(CL_INVALID_PROGRAM)
    EXACTILE_NAME(CL_INVALID_PROGRAM_EXECUTABLE)
    EXACTILE_NAME(CL_INVALID_KERNEL_NAME)
    EXACTILE_NAME(CL_INVALID_KERNEL)
    EXACTILE_NAME(CL_INVALID_ARG_INDEX)
    EXACTILE_NAME(CL_INVALID_ARG_VALUE)
    EXACTILE_NAME(CL_INVALID_ARG_SIZE)
    EXACTILE_NAME(CL_INVALID_KERNEL_ARGS)
    EXACTILE_NAME(CL_INVALID_WORK_GROUP_SIZE)
    EXACTILE_NAME(CL_INVALID_WORK_ITEM_SIZE)
    EXACTILE_NAME(CL_INVALID_BUFFER_SIZE)
    EXACTILE_NAME(CL_INVALID_GLOBAL_WORK_SIZE)
#undef EXACTILE_NAME
    case -1001: name = "CL_PLATFORM_NOT_FOUND_KHR"; break;
    default: break;
  }
  return fmt::format("{} ({})", name, error);
}

Status check(cl_int error, std::string_view call, std::string_view what) {
  if (error == CL_SUCCESS) return {};
  const bool memory =
      error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY || error == CL_INVALID_BUFFER_SIZE;
  return {memory ? StatusCode::out_of_memory : StatusCode::device_failure,
          fmt::format("{}{}{}: {}", call, what.empty() ? "" : " in ", what, error_name(error))};
}

}  // namespace exactile::opencl
