// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/gemv/instances.hpp"
#include "cuda/kernels/gemv/product.cuh"

namespace exactile::cuda::gemv_family {

std::unique_ptr<DeviceProduct> make_complex(const GemmDescription& d, const Device& device, const Configuration& c) {
  if (d.types.input == ElementType::cf32) return make<Complex<float>>(d, device, c);
  return make<Complex<double>>(d, device, c);
}

}  // namespace exactile::cuda::gemv_family
