// SPDX-License-Identifier: Apache-2.0
// `gemv`: at most 8 rows or columns, every type and layout, as fast as memory delivers the matrix.
// Traffic model: each operand and C once. Limit: memory; from L2 the multiply-adds of CUDA cores, f8's conversions.
#include "cuda/kernels/kernels.hpp"

#include "cuda/kernels/gemv/division.hpp"
#include "cuda/kernels/gemv/instances.hpp"

namespace exactile::cuda {
namespace {

std::unique_ptr<DeviceProduct> make_gemv(const plan::Problem& problem, const Device& device, const Configuration& c) {
  const GemmDescription& d = problem.description;
  switch (d.types.input) {
    case ElementType::f32:
    case ElementType::f64: return gemv_family::make_real(d, device, c);
    case ElementType::cf32:
    case ElementType::cf64: return gemv_family::make_complex(d, device, c);
    case ElementType::bf16: return gemv_family::make_bf16(d, device, c);
    case ElementType::f16: return gemv_family::make_f16(d, device, c);
    case ElementType::f8e4m3:
    case ElementType::f8e5m2: return gemv_family::make_f8(d, device, c);
    default: return gemv_family::make_integer(d, device, c);
  }
}

}  // namespace

const Kernel gemv{.name = gemv_family::name,
                  .role = "engine",
                  .summary = "at most 8 rows or columns: streams the matrix through registers, K or N contiguous",
                  .types = all_gemm_types(),
                  .least_capability = 75,
                  .refuses = gemv_family::refuses,
                  .candidates = gemv_family::candidates,
                  .make = make_gemv};

}  // namespace exactile::cuda
