// SPDX-License-Identifier: Apache-2.0
#include "cpu/backend.hpp"

#include "core/thread_count.hpp"
#include "cpu/isa.hpp"
#include "cpu/kernel_list.hpp"

namespace exactile::cpu {
namespace {

std::vector<DeviceInfo> devices() {
  return {{.backend = "cpu",
           .name = "processor",
           .available = true,
           .reason = {},
           .properties = {{"isa", std::string(to_string(widest_isa()))},
                          {"usable processors", std::to_string(core::usable_processors())}}}};
}

Result<double> measure_peak(GemmTypes, int) { return 1e9; }

}  // namespace

const plan::BackendEntry& backend() {
  static const plan::BackendEntry entry{
      .name = "cpu", .kernels = kernel_list, .devices = devices, .measure_peak = measure_peak};
  return entry;
}

}  // namespace exactile::cpu
