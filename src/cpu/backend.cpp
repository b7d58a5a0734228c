// SPDX-License-Identifier: Apache-2.0
#include "cpu/backend.hpp"

#include "core/thread_count.hpp"
#include "cpu/caches.hpp"
#include "cpu/isa.hpp"
#include "cpu/kernel_list.hpp"
#include "cpu/model/measure.hpp"
#include "cpu/peak.hpp"

namespace exactile::cpu {
namespace {

std::string kibibytes(std::int64_t bytes) { return std::to_string(bytes / 1024) + " KiB"; }

std::vector<DeviceInfo> devices() {
  return {{.backend = Backend::cpu,
           .name = processor_name(),
           .available = true,
           .reason = {},
           .properties = {{"isa", std::string(to_string(widest_isa()))},
                          {"usable processors", std::to_string(core::usable_processors())},
                          {"threads by default", std::to_string(core::thread_count(0))},
                          {"L1 data cache", kibibytes(caches().l1)},
                          {"L2 cache", kibibytes(caches().l2)},
                          {"L3 cache", kibibytes(caches().l3)}}}};
}

}  // namespace

const plan::BackendEntry& backend() {
  static const plan::BackendEntry entry{.backend = Backend::cpu,
                                        .kernels = kernel_list,
                                        .devices = devices,
                                        .measure_peak = measure_peak,
                                        .kernels_of = kernels_of,
                                        .measure = measure};
  return entry;
}

}  // namespace exactile::cpu
