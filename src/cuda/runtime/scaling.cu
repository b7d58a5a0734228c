// SPDX-License-Identifier: Apache-2.0
// C <- activation(beta * C + bias): what remains of a product whose alpha or k is zero; and D <- C, before one to D.
#include <algorithm>

#include "cuda/runtime/device.hpp"
#include "cuda/runtime/executable.hpp"
#include "cuda/tile/dispatch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda {
namespace {

constexpr int threads_per_block = 256;
constexpr std::int64_t most_blocks = 1 << 16;

/// Calls visit(product, i, j) for this thread's share of the elements of C.
template <class Visit>
__device__ void for_each_element(const GemmDescription& d, Visit visit) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads_per_block;
  for (std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
       index < d.m * d.n * d.batch_count; index += step) {
    const std::int64_t element = index % (d.m * d.n);
    visit(index / (d.m * d.n), element / d.n, element % d.n);
  }
}

template <class T>
[[nodiscard]] __device__ T* place(T* data, const OperandLayout& layout, std::int64_t product, std::int64_t i,
                                  std::int64_t j) {
  return product_base(data, layout, product) + i * layout.row_stride + j * layout.column_stride;
}

template <class In, class Out>
__global__ void __launch_bounds__(threads_per_block)
    scaling_kernel(GemmDescription d, Out* c, Epilogue<In, Out> epilogue) {
  for_each_element(d, [&](std::int64_t product, std::int64_t i, std::int64_t j) {
    epilogue.store(place(c, d.c, product, i, j), {}, i, j);
  });
}

template <class Out>
__global__ void __launch_bounds__(threads_per_block)
    bringing_kernel(GemmDescription d, OperandLayout d_layout, const Out* from, Out* to) {
  for_each_element(d, [&](std::int64_t product, std::int64_t i, std::int64_t j) {
    *place(to, d_layout, product, i, j) = *place(from, d.c, product, i, j);
  });
}

unsigned blocks_of(const GemmDescription& d) {
  return static_cast<unsigned>(std::min((d.m * d.n * d.batch_count - 1) / threads_per_block + 1, most_blocks));
}

class Scaling final : public DeviceProduct {
 public:
  explicit Scaling(const GemmDescription& description) : description_(description) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    return with_types(description_.types, [&]<class In, class Out>() {
      GemmArguments arguments = launch.arguments;
      arguments.alpha = 0;  // with k = 0 it may be anything, and Inf * 0 is not 0
      scaling_kernel<In, Out><<<blocks_of(description_), threads_per_block, 0, launch.stream>>>(
          description_, static_cast<Out*>(arguments.c), Epilogue<In, Out>(description_, arguments));
      return check_launch("scaling");
    });
  }
  [[nodiscard]] std::string blocking() const override { return {}; }
  [[nodiscard]] double model_bytes() const override { return 0; }

 private:
  GemmDescription description_;
};

class Bringing final : public DeviceProduct {
 public:
  explicit Bringing(const GemmDescription& description) : description_(description), d_layout_(*description.d) {
    description_.d.reset();
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    return with_types(description_.types, [&]<class In, class Out>() {
      bringing_kernel<Out><<<blocks_of(description_), threads_per_block, 0, launch.stream>>>(
          description_, d_layout_, static_cast<const Out*>(static_cast<const void*>(launch.arguments.c)),
          static_cast<Out*>(launch.arguments.d));
      return check_launch("bringing C to D");
    });
  }
  [[nodiscard]] std::string blocking() const override { return {}; }
  [[nodiscard]] double model_bytes() const override { return 0; }

 private:
  GemmDescription description_;
  OperandLayout d_layout_;
};

}  // namespace

std::unique_ptr<plan::Executable> prepare_scaling(const plan::Problem& problem) {
  const Device& device = devices()[static_cast<std::size_t>(problem.device)];
  if (problem.description.d)
    return on_device(std::make_unique<Bringing>(problem.description), device, "bringing C to D");
  return on_device(std::make_unique<Scaling>(problem.description), device, "scaling");
}

}  // namespace exactile::cuda
