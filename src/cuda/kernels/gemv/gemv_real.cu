// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/gemv/instances.hpp"
#include "cuda/kernels/gemv/product.cuh"

namespace exactile::cuda::gemv_family {

std::unique_ptr<DeviceProduct> make_real(const GemmDescription& d, const Device& device, const Configuration& c) {
  return d.types.input == ElementType::f32 ? make<float>(d, device, c) : make<double>(d, device, c);
}

}  // namespace exactile::cuda::gemv_family
