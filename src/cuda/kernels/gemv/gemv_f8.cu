// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/gemv/instances.hpp"
#include "cuda/kernels/gemv/product.cuh"

namespace exactile::cuda::gemv_family {

std::unique_ptr<DeviceProduct> make_f8(const GemmDescription& d, const Device& device, const Configuration& c) {
  if (d.types.input == ElementType::f8e4m3) return make<__nv_fp8_e4m3>(d, device, c);
  return make<__nv_fp8_e5m2>(d, device, c);
}

}  // namespace exactile::cuda::gemv_family
