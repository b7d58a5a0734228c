// SPDX-License-Identifier: Apache-2.0
#include "opencl/backend.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "opencl/executable.hpp"
#include "opencl/kernel_list.hpp"
#include "opencl/peak.hpp"
#include "opencl/runtime/context.hpp"

namespace exactile::opencl {
namespace {

std::vector<DeviceInfo> devices() {
  if (all_devices().empty())
    return {
        {.backend = Backend::opencl, .name = "OpenCL", .available = false, .reason = std::string(why_no_device(0))}};
  std::vector<DeviceInfo> infos;
  for (const Device& d : all_devices())
    infos.push_back({.backend = Backend::opencl,
                     .name = d.name,
                     .available = d.trouble.empty(),
                     .reason = d.trouble,
                     .properties = {{"platform", d.platform_name},
                                    {"vendor", d.vendor},
                                    {"version", d.version},
                                    {"driver", d.driver},
                                    {"compute units", std::to_string(d.compute_units)},
                                    {"clock", fmt::format("{} MHz", d.clock_megahertz)},
                                    {"double precision", d.has_f64 ? "yes" : "no"},
                                    {"largest work-group", std::to_string(d.max_group_items)},
                                    {"local memory", fmt::format("{} KiB", d.local_bytes / 1024)},
                                    {"memory", fmt::format("{} MiB", d.memory_bytes >> 20)},
                                    {"largest buffer", fmt::format("{} MiB", d.max_buffer_bytes >> 20)}}});
  return infos;
}

/// Linux's names for what a GPU's driver opens: without one there are processors at most, through PoCL and its like,
/// and a process need not load those to learn it.
std::string_view why_absent() {
  static const bool has_gpu = [] {
    for (const char* file : {"/dev/dri", "/dev/kfd", "/dev/nvidiactl", "/dev/mali0"})
      if (access(file, F_OK) == 0) return true;
    return false;
  }();
  return has_gpu ? "" : "no GPU: neither /dev/dri nor /dev/kfd, /dev/nvidiactl or /dev/mali0 is there";
}

std::string_view only_by_name(int device) {
  return all_devices()[static_cast<std::size_t>(device)].is_cpu
             ? "the device is a processor: computes only when its backend is named"
             : "";
}

/// About what compiling a kernel costs where the driver keeps none.
constexpr double context_seconds = 0.5;

}  // namespace

const plan::BackendEntry& backend() {
  static const plan::BackendEntry entry{.backend = Backend::opencl,
                                        .kernels = kernel_list,
                                        .devices = devices,
                                        .measure_peak = measure_peak,
                                        .open = open_context,
                                        .prepare_scaling = prepare_scaling,
                                        .has_addresses = false};
  return entry;
}

const plan::Offload& offload() {
  static const plan::Offload all{
      .backend = &backend(),
      .context_seconds = context_seconds,
      .why_absent = why_absent,
      .first_use_seconds = [](int device) { return Runtime::is_ready(device) ? 0 : context_seconds; },
      .only_by_name = only_by_name,
      .is_pinned = [](const void*, std::int64_t, int) { return false; },
      .opened_by = opened_by};
  return all;
}

}  // namespace exactile::opencl
