// SPDX-License-Identifier: Apache-2.0
// `cuda_naive_kahan`: `cuda_naive` in f32 with Kahan's summation, so that the error does not grow with k.
// Traffic model: as `cuda_naive`, 2mnk elements. Limit: the same loads; the additions are four dependent operations a
// term instead of one, and mostly hide behind them. See docs/ladder/cuda_naive.md.
#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/ladder/kahan.cuh"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/tiles.hpp"

namespace exactile::cuda {
namespace {

constexpr int threads_per_block = 256;
constexpr std::array naive_kahan_types{GemmTypes{ElementType::f32, ElementType::f32}};

__global__ void __launch_bounds__(threads_per_block)
    naive_kahan_kernel(GemmDescription d, const float* a, const float* b, float* c, Epilogue<float, float> epilogue) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
  if (index >= d.m * d.n) return;
  const std::int64_t i = index / d.n;
  const std::int64_t j = index % d.n;
  for (std::int64_t product = blockIdx.y; product < d.batch_count; product += gridDim.y) {
    const float* row = product_base(a, d.a, product) + i * d.a.row_stride;
    const float* column = product_base(b, d.b, product) + j * d.b.column_stride;
    KahanSum sum;
#pragma unroll 4
    for (std::int64_t p = 0; p < d.k; ++p) sum.add_product(row[p * d.a.column_stride], column[p * d.b.row_stride]);
    epilogue.store(product_base(c, d.c, product) + i * d.c.row_stride + j * d.c.column_stride, sum.sum, i, j);
  }
}

std::int64_t blocks(const GemmDescription& d) { return core::ceil_divide(d.m * d.n, threads_per_block); }

class NaiveKahan final : public DeviceProduct {
 public:
  explicit NaiveKahan(const GemmDescription& description) : description_(description) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments& arguments = launch.arguments;
    naive_kahan_kernel<<<layered_grid(description_, blocks(description_)), threads_per_block, 0, launch.stream>>>(
        description_, static_cast<const float*>(arguments.a), static_cast<const float*>(arguments.b),
        static_cast<float*>(arguments.c), Epilogue<float, float>(description_, arguments));
    return check_launch("cuda_naive_kahan");
  }
  [[nodiscard]] std::string blocking() const override { return "threads=256"; }
  [[nodiscard]] double model_bytes() const override { return tiled_bytes(description_, 1, 1); }

 private:
  GemmDescription description_;
};

}  // namespace

const Kernel cuda_naive_kahan{
    .name = "cuda_naive_kahan",
    .role = "ladder",
    .summary = "one thread per element of C, Kahan's summation",
    .types = naive_kahan_types,
    .refuses = [](const plan::Problem& p, const Device&) -> std::string_view {
      return refuses_blocks(blocks(p.description));
    },
    .candidates = one_candidate,
    .make = [](const plan::Problem& p, const Device&, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<NaiveKahan>(p.description);
    }};

}  // namespace exactile::cuda
