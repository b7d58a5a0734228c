// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/gemv/instances.hpp"
#include "cuda/kernels/gemv/product.cuh"

namespace exactile::cuda::gemv_family {

std::unique_ptr<DeviceProduct> make_integer(const GemmDescription& d, const Device& device, const Configuration& c) {
  switch (d.types.input) {
    case ElementType::i8: return make<std::int8_t>(d, device, c);
    case ElementType::i32: return make<std::int32_t>(d, device, c);
    default: return make<std::int64_t>(d, device, c);
  }
}

}  // namespace exactile::cuda::gemv_family
