// SPDX-License-Identifier: Apache-2.0
#include "opencl/backend.hpp"

#include <fmt/format.h>

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

}  // namespace exactile::opencl
