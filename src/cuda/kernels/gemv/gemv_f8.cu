// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/gemv/instances.hpp"
#include "cuda/kernels/gemv/product.cuh"

namespace exactile::cuda::gemv_family {

std::unique_ptr<DeviceProduct> make_f8(const GemmDescription& d, const Device& device, const Configuration& c) {
  const bool to_f32 = d.types.output == ElementType::f32;
  if (d.types.input == ElementType::f8e4m3)
    return to_f32 ? make<__nv_fp8_e4m3, float>(d, device, c) : make<__nv_fp8_e4m3, __nv_bfloat16>(d, device, c);
  return to_f32 ? make<__nv_fp8_e5m2, float>(d, device, c) : make<__nv_fp8_e5m2, __nv_bfloat16>(d, device, c);
}

}  // namespace exactile::cuda::gemv_family
