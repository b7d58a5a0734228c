// SPDX-License-Identifier: Apache-2.0
// `cuda_naive`: one thread per element of C on a one-dimensional grid; row = index / n, column = index % n.
// Traffic model: every thread reads its row of A and its column of B, 2mnk elements; the caches hide some of it.
// Limit: one multiply-add for every two loads. See docs/ladder/cuda_naive.md.
#include <algorithm>

#include "cuda/kernels/kernels.hpp"
#include "cuda/tile/dispatch.cuh"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/tiles.hpp"

namespace exactile::cuda {
namespace {

constexpr int threads_per_block = 256;

template <class In, class Out>
__global__ void __launch_bounds__(threads_per_block)
    naive_kernel(GemmDescription d, const In* a, const In* b, Out* c, Epilogue<In, Out> epilogue) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
  if (index >= d.m * d.n) return;
  const std::int64_t i = index / d.n;
  const std::int64_t j = index % d.n;
  for (std::int64_t product = blockIdx.y; product < d.batch_count; product += gridDim.y) {
    const In* row = product_base(a, d.a, product) + i * d.a.row_stride;
    const In* column = product_base(b, d.b, product) + j * d.b.column_stride;
    DeviceAccumulator<In> sum{};
    for (std::int64_t p = 0; p < d.k; ++p)
      sum = multiply_add(widen(row[p * d.a.column_stride]), widen(column[p * d.b.row_stride]), sum);
    epilogue.store(product_base(c, d.c, product) + i * d.c.row_stride + j * d.c.column_stride, sum, i, j);
  }
}

class Naive final : public DeviceProduct {
 public:
  explicit Naive(const GemmDescription& description) : description_(description) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    return with_types(description_.types, [&]<class In, class Out>() {
      const GemmArguments& arguments = launch.arguments;
      const dim3 grid(static_cast<unsigned>((description_.m * description_.n - 1) / threads_per_block + 1),
                      static_cast<unsigned>(std::min<std::int64_t>(description_.batch_count, 65535)));
      naive_kernel<In, Out><<<grid, threads_per_block, 0, launch.stream>>>(
          description_, static_cast<const In*>(arguments.a), static_cast<const In*>(arguments.b),
          static_cast<Out*>(arguments.c), Epilogue<In, Out>(description_, arguments));
      return check_launch("cuda_naive");
    });
  }
  [[nodiscard]] std::string blocking() const override { return "threads=256"; }
  [[nodiscard]] double model_bytes() const override {
    const GemmDescription& d = description_;
    return 2.0 * static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) *
           static_cast<double>(d.batch_count * size_in_bytes(d.types.input));
  }

 private:
  GemmDescription description_;
};

}  // namespace

const Kernel cuda_naive{
    .name = "cuda_naive",
    .role = "ladder",
    .summary = "one thread per element of C",
    .types = all_gemm_types(),
    .refuses = [](const plan::Problem& p, const Device&) -> std::string_view {
      constexpr std::int64_t most_blocks = 0x7fffffff;
      const GemmDescription& d = p.description;
      return (d.m * d.n - 1) / threads_per_block < most_blocks ? "" : "C has more elements than one grid has threads";
    },
    .candidates = one_candidate,
    .make = [](const plan::Problem& p, const Device&, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<Naive>(p.description);
    }};

}  // namespace exactile::cuda
