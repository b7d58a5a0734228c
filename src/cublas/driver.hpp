// SPDX-License-Identifier: Apache-2.0
/// \file What this library asks of NVIDIA's driver, which the program has loaded.
#pragma once

#include <cuda.h>

namespace exactile::cublas {

struct Driver {
  decltype(&::cuCtxGetDevice) current_device;
  decltype(&::cuStreamIsCapturing) is_capturing;
  decltype(&::cuMemAllocAsync) allocate_in_order;
  decltype(&::cuMemFreeAsync) free_in_order;
  decltype(&::cuMemFree) free;
  decltype(&::cuEventCreate) create_event;
  decltype(&::cuEventRecord) record;
  decltype(&::cuStreamWaitEvent) wait;
  decltype(&::cuEventDestroy) destroy_event;
};

/// Null where none is loaded, or one that is older than these functions.
[[nodiscard]] const Driver* driver() noexcept;

}  // namespace exactile::cublas
