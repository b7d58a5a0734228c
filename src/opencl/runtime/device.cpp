// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <tuple>

#include "core/environment.hpp"

namespace exactile::opencl {
namespace {

template <class T>
T number(cl_device_id device, cl_device_info what) {
  T value{};
  if (api()->clGetDeviceInfo(device, what, sizeof value, &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

/// Texts come with their terminating zero, and some drivers pad names with spaces.
std::string trimmed(std::string text) {
  text.erase(std::find(text.begin(), text.end(), '\0'), text.end());
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::string text(cl_device_id device, cl_device_info what) {
  std::size_t bytes = 0;
  if (api()->clGetDeviceInfo(device, what, 0, nullptr, &bytes) != CL_SUCCESS) return {};
  std::string value(bytes, '\0');
  if (api()->clGetDeviceInfo(device, what, bytes, value.data(), nullptr) != CL_SUCCESS) return {};
  return trimmed(std::move(value));
}

std::string platform_text(cl_platform_id platform, cl_platform_info what) {
  std::size_t bytes = 0;
  if (api()->clGetPlatformInfo(platform, what, 0, nullptr, &bytes) != CL_SUCCESS) return {};
  std::string value(bytes, '\0');
  if (api()->clGetPlatformInfo(platform, what, bytes, value.data(), nullptr) != CL_SUCCESS) return {};
  return trimmed(std::move(value));
}

std::string trouble_with(cl_device_id id) {
  if (number<cl_bool>(id, CL_DEVICE_AVAILABLE) == CL_FALSE) return "the driver says that it is not available";
  if (number<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) return "its driver has no compiler";
  if (number<cl_bool>(id, CL_DEVICE_ENDIAN_LITTLE) == CL_FALSE) return "it is big-endian";
  const std::string version = text(id, CL_DEVICE_VERSION);  // "OpenCL <major>.<minor> ..."
  if (version.starts_with("OpenCL 1.0") || version.starts_with("OpenCL 1.1")) return version + " is older than 1.2";
  return {};
}

Device describe(cl_platform_id platform, cl_device_id id) {
  const auto type = number<cl_device_type>(id, CL_DEVICE_TYPE);
  const auto single = number<cl_device_fp_config>(id, CL_DEVICE_SINGLE_FP_CONFIG);
  const auto twice = number<cl_device_fp_config>(id, CL_DEVICE_DOUBLE_FP_CONFIG);
  return {.platform = platform,
          .id = id,
          .name = text(id, CL_DEVICE_NAME),
          .vendor = text(id, CL_DEVICE_VENDOR),
          .driver = text(id, CL_DRIVER_VERSION),
          .version = text(id, CL_DEVICE_VERSION),
          .platform_name = platform_text(platform, CL_PLATFORM_NAME),
          .is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0,
          .is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0,
          .has_f64 = twice != 0,
          .fuses_f32 = (single & CL_FP_FMA) != 0,
          .fuses_f64 = (twice & CL_FP_FMA) != 0,
          .keeps_f32_subnormals = (single & CL_FP_DENORM) != 0,
          .compute_units = static_cast<int>(number<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS)),
          .clock_megahertz = static_cast<int>(number<cl_uint>(id, CL_DEVICE_MAX_CLOCK_FREQUENCY)),
          .vector_width_f32 = static_cast<int>(number<cl_uint>(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT)),
          .max_group_items = static_cast<std::int64_t>(number<std::size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE)),
          .local_bytes = static_cast<std::int64_t>(number<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE)),
          .memory_bytes = static_cast<std::int64_t>(number<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE)),
          .max_buffer_bytes = static_cast<std::int64_t>(number<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE)),
          .trouble = trouble_with(id)};
}

std::vector<Device> find_all() {
  std::vector<Device> found;
  if (api() == nullptr) return found;
  cl_uint platform_count = 0;
  if (api()->clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS) return found;
  std::vector<cl_platform_id> platforms(platform_count);
  if (api()->clGetPlatformIDs(platform_count, platforms.data(), nullptr) != CL_SUCCESS) return found;
  for (cl_platform_id platform : platforms) {
    cl_uint count = 0;
    if (api()->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(count);
    if (api()->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr) != CL_SUCCESS) continue;
    for (cl_device_id id : ids) found.push_back(describe(platform, id));
  }
  const std::string wanted(core::environment("EXACTILE_OPENCL_DEVICE").value_or(""));
  const auto rank = [&](const Device& d) {
    const bool named = !wanted.empty() && d.name.find(wanted) != std::string::npos;
    return std::tuple(!d.trouble.empty(), !named, d.is_gpu ? 0 : d.is_cpu ? 2 : 1);
  };
  std::stable_sort(found.begin(), found.end(), [&](const Device& x, const Device& y) { return rank(x) < rank(y); });
  for (std::size_t i = 0; i < found.size(); ++i) found[i].index = static_cast<int>(i);
  return found;
}

constinit std::atomic<int> opener{0};

}  // namespace

std::span<const Device> all_devices() {
  static const auto& once = *new std::vector<Device>((opener.store(getpid(), std::memory_order_relaxed), find_all()));
  return once;
}

int opened_by() { return opener.load(std::memory_order_relaxed); }

int usable_device_count() {
  return static_cast<int>(std::ranges::count_if(all_devices(), [](const Device& d) { return d.trouble.empty(); }));
}

std::string_view why_no_device(int index) {
  if (api() == nullptr) return why_no_api();
  if (all_devices().empty()) return "the OpenCL loader knows no device: no driver (ICD) is installed";
  if (usable_device_count() == 0) return all_devices().front().trouble;
  if (index < 0 || index >= usable_device_count()) return "there is no OpenCL device of that number; see `devices`";
  return {};
}

Device describe_device(cl_device_id id) { return describe(number<cl_platform_id>(id, CL_DEVICE_PLATFORM), id); }

std::string_view with_limit(std::string_view text, std::int64_t limit, std::string_view unit) {
  static std::mutex mutex;
  static auto& texts = *new std::set<std::string, std::less<>>;  // as many as there are limits
  const std::lock_guard lock(mutex);
  return *texts.insert(fmt::format("{}: {} {}", text, limit, unit)).first;
}

bool has_type(const Device& device, ElementType accumulator) {
  return device.has_f64 || (accumulator != ElementType::f64 && accumulator != ElementType::cf64);
}

}  // namespace exactile::opencl
