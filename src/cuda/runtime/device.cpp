// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "cuda/runtime/driver.hpp"

namespace exactile::cuda {
namespace {

struct Found {
  std::vector<Device> devices;
  std::vector<std::string> names;
  std::string reason;
  int driver_version = 0;
};

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string why_not(cudaError_t error, int driver_version) {
  if (error == cudaErrorInsufficientDriver && driver_version == 0) return "no NVIDIA driver is installed";
  if (error == cudaErrorInsufficientDriver)
    return fmt::format("the NVIDIA driver supports CUDA {} and this build needs {}", version_text(driver_version),
                       version_text(CUDART_VERSION));
  if (error == cudaErrorNoDevice) return "the NVIDIA driver finds no device (see CUDA_VISIBLE_DEVICES)";
  return fmt::format("the NVIDIA driver does not start: {}", cudaGetErrorString(error));
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

Device describe(int index, const cudaDeviceProp& properties) {
  constexpr double hertz_per_kilohertz = 1000;
  // The memory transfers twice a clock.
  const double transfers = 2.0 * hertz_per_kilohertz * attribute(cudaDevAttrMemoryClockRate, index);
  return {.index = index,
          .compute_capability = 10 * properties.major + properties.minor,
          .sm_count = properties.multiProcessorCount,
          .shared_bytes_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin),
          .l2_bytes = properties.l2CacheSize,
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
          .clock_hertz = hertz_per_kilohertz * attribute(cudaDevAttrClockRate, index),
          .memory_bytes_per_second = transfers * properties.memoryBusWidth / 8};
}

constinit std::atomic<int> opener{0};

Found find() {
  opener.store(getpid(), std::memory_order_relaxed);
  Found found;
  if (cudaDriverGetVersion(&found.driver_version) != cudaSuccess) found.driver_version = 0;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    static_cast<void>(cudaGetLastError());  // not the error of a later call
    found.reason = why_not(error == cudaSuccess ? cudaErrorNoDevice : error, found.driver_version);
    return found;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) continue;
    found.devices.push_back(describe(index, properties));
    found.names.emplace_back(properties.name);
  }
  for (std::size_t i = 0; i < found.devices.size(); ++i) found.devices[i].name = found.names[i];
  if (found.devices.empty()) found.reason = "the NVIDIA driver does not answer for its devices";
  return found;
}

const Found& found() {
  static const auto& all = *new Found(find());
  return all;
}

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

/// What the runtime uses too. It is kept for the life of the process, as the runtime keeps it.
Result<CUcontext> primary_context(int index) {
  static const auto get_device = driver_function<PFN_cuDeviceGet_v2000>("cuDeviceGet", 2000);
  static const auto retain = driver_function<PFN_cuDevicePrimaryCtxRetain_v7000>("cuDevicePrimaryCtxRetain", 7000);
  static std::mutex mutex;
  static auto& contexts = *new std::map<int, CUcontext>;  // contexts of the user may outlive static objects
  const std::lock_guard lock(mutex);
  if (const auto found = contexts.find(index); found != contexts.end()) return found->second;
  CUdevice device = 0;
  if (Status s = check_driver(get_device(&device, index), "cuDeviceGet"); !s.ok()) return s;
  CUcontext context = nullptr;
  if (Status s = check_driver(retain(&context, device), "cuDevicePrimaryCtxRetain"); !s.ok()) return s;
  contexts.emplace(index, context);
  return context;
}

}  // namespace

std::span<const Device> devices() { return found().devices; }

int opened_by() { return opener.load(std::memory_order_relaxed); }

std::string_view why_no_device() { return found().reason; }

std::string why_too_old(int capability, int least) {
  if (capability >= least) return {};
  return fmt::format("this build has code for compute capability {}.{} and later; the device has {}.{}", least / 10,
                     least % 10, capability / 10, capability % 10);
}

std::vector<DeviceInfo> device_infos() {
  const Found& all = found();
  if (all.devices.empty())
    return {
        {.backend = Backend::cuda, .name = "NVIDIA GPU", .available = false, .reason = all.reason, .properties = {}}};
  std::vector<DeviceInfo> infos;
  for (std::size_t i = 0; i < all.devices.size(); ++i) {
    const Device& device = all.devices[i];
    const std::string reason = why_too_old(device.compute_capability, least_capability_built());
    infos.push_back(
        {.backend = Backend::cuda,
         .name = all.names[i],
         .available = reason.empty(),
         .reason = reason,
         .properties = {{"device", std::to_string(device.index)},
                        {"compute capability",
                         fmt::format("{}.{}", device.compute_capability / 10, device.compute_capability % 10)},
                        {"multiprocessors", std::to_string(device.sm_count)},
                        {"memory", gibibytes(device.memory_bytes)},
                        {"memory bandwidth", fmt::format("{:.0f} GB/s", device.memory_bytes_per_second * 1e-9)},
                        {"L2 cache", fmt::format("{} KiB", device.l2_bytes / 1024)},
                        {"shared memory a block", fmt::format("{} KiB", device.shared_bytes_per_block / 1024)},
                        {"driver supports CUDA", version_text(all.driver_version)},
                        {"built with CUDA", version_text(CUDART_VERSION)}}});
  }
  return infos;
}

bool is_ready(int device) {
  static const auto get_device = driver_function<PFN_cuDeviceGet_v2000>("cuDeviceGet", 2000);
  static const auto get_state =
      driver_function<PFN_cuDevicePrimaryCtxGetState_v7000>("cuDevicePrimaryCtxGetState", 7000);
  CUdevice handle = 0;
  unsigned flags = 0;
  int is_active = 0;
  return get_device != nullptr && get_state != nullptr && get_device(&handle, device) == CUDA_SUCCESS &&
         get_state(handle, &flags, &is_active) == CUDA_SUCCESS && is_active != 0;
}

DeviceGuard::DeviceGuard(int device) {
  int current = 0;
  status_ = check(cudaGetDevice(&current), "cudaGetDevice");
  if (!status_.ok() || current == device) return;
  const Result<CUcontext> context = primary_context(device);
  static const auto push = driver_function<PFN_cuCtxPushCurrent_v4000>("cuCtxPushCurrent", 4000);
  status_ = context.ok() ? check_driver(push(context.value()), "cuCtxPushCurrent") : context.status();
  is_pushed_ = status_.ok();
}

DeviceGuard::~DeviceGuard() {
  static const auto pop = driver_function<PFN_cuCtxPopCurrent_v4000>("cuCtxPopCurrent", 4000);
  CUcontext popped = nullptr;
  if (is_pushed_) static_cast<void>(pop(&popped));
}

}  // namespace exactile::cuda
