// SPDX-License-Identifier: Apache-2.0
#include "cuda/backend.hpp"

#include "cuda/kernel_list.hpp"
#include "cuda/model/measure.hpp"
#include "cuda/peak.hpp"
#include "cuda/runtime/context.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/executable.hpp"

namespace exactile::cuda {

const plan::BackendEntry& backend() {
  static const plan::BackendEntry entry{.backend = Backend::cuda,
                                        .kernels = kernel_list,
                                        .devices = device_infos,
                                        .measure_peak = measure_peak,
                                        .open = open_context,
                                        .prepare_scaling = prepare_scaling,
                                        .measure = model::measure};
  return entry;
}

}  // namespace exactile::cuda
