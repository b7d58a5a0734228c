// SPDX-License-Identifier: Apache-2.0
// The one file that names every backend.
#include "api/backends.hpp"

#include <array>

#include "cpu/backend.hpp"
#include "cuda/backend.hpp"
#include "opencl/backend.hpp"

namespace exactile::api {

std::span<const plan::BackendEntry* const> backends() {
  static const std::array all{&cpu::backend(), &cuda::backend(), &opencl::backend()};
  return all;
}

std::span<const plan::Offload* const> offloads() {
  static const std::array all{&cuda::offload(), &opencl::offload()};
  return all;
}

}  // namespace exactile::api
