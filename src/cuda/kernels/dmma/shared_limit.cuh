// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>

#include "cuda/kernel.hpp"

namespace exactile::cuda::dmma {

/// Lets a kernel have more than 48 KiB of dynamic shared memory; asks each device once.
class SharedLimit {
 public:
  template <class Function>
  [[nodiscard]] cudaError_t raise(Function* kernel, int bytes, const Device& device) {
    const auto index = static_cast<std::size_t>(device.index);
    if (index < done_.size() && done_[index].load(std::memory_order_relaxed)) return cudaSuccess;
    const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error == cudaSuccess && index < done_.size()) done_[index].store(true, std::memory_order_relaxed);
    return error;
  }

 private:
  std::array<std::atomic<bool>, 64> done_{};
};

}  // namespace exactile::cuda::dmma
