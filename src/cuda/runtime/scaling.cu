// SPDX-License-Identifier: Apache-2.0
// C <- activation(beta * C + bias): what remains of a product whose alpha or k is zero.
#include <algorithm>

#include "cuda/runtime/device.hpp"
#include "cuda/runtime/executable.hpp"
#include "cuda/tile/dispatch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda {
namespace {

constexpr int threads_per_block = 256;
constexpr std::int64_t most_blocks = 1 << 16;

template <class In, class Out>
__global__ void __launch_bounds__(threads_per_block)
    scaling_kernel(GemmDescription d, Out* c, Epilogue<In, Out> epilogue) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads_per_block;
  for (std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
       index < d.m * d.n * d.batch_count; index += step) {
    const std::int64_t element = index % (d.m * d.n);
    const std::int64_t i = element / d.n;
    const std::int64_t j = element % d.n;
    Out* const first = product_base(c, d.c, index / (d.m * d.n));
    epilogue.store(first + i * d.c.row_stride + j * d.c.column_stride, {}, i, j);
  }
}

class Scaling final : public DeviceProduct {
 public:
  explicit Scaling(const GemmDescription& description) : description_(description) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    return with_types(description_.types, [&]<class In, class Out>() {
      GemmArguments arguments = launch.arguments;
      arguments.alpha = 0;  // with k = 0 it may be anything, and Inf * 0 is not 0
      const std::int64_t elements = description_.m * description_.n * description_.batch_count;
      const auto blocks = static_cast<unsigned>(std::min((elements - 1) / threads_per_block + 1, most_blocks));
      scaling_kernel<In, Out><<<blocks, threads_per_block, 0, launch.stream>>>(
          description_, static_cast<Out*>(arguments.c), Epilogue<In, Out>(description_, arguments));
      return check_launch("scaling");
    });
  }
  [[nodiscard]] std::string blocking() const override { return {}; }
  [[nodiscard]] double model_bytes() const override { return 0; }

 private:
  GemmDescription description_;
};

}  // namespace

std::unique_ptr<plan::Executable> prepare_scaling(const plan::Problem& problem) {
  return on_device(std::make_unique<Scaling>(problem.description), devices()[static_cast<std::size_t>(problem.device)],
                   "scaling");
}

}  // namespace exactile::cuda
