// SPDX-License-Identifier: Apache-2.0
// `batched_small`: a block takes a few whole products at a time. It copies their operands to shared memory in the order
// in which they lie, each thread sums a 4 x 4 patch of one product over all of K in order, and the sums go back through
// shared memory, so that C is written in the order in which it lies.
// Traffic model: each element once. Limit: operands of one product must fit in 48 KiB. See
// docs/design/few_and_small.md.
#include <algorithm>
#include <memory>
#include <string>

#include "cuda/kernels/kernels.hpp"
#include "cuda/tile/dispatch.cuh"
#include "cuda/tile/divisor.hpp"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda {
namespace {

constexpr int threads_per_block = 256;
constexpr int patch = 4;  // rows and columns of a thread's sums
constexpr int shared_limit = 48 * 1024;

/// One matrix of each product, element by element in the order in which it lies.
struct Walk {
  OperandLayout layout;
  int elements;  ///< of one product
  int inner;     ///< along the side with the smaller stride
  Divisor by_elements;
  Divisor by_inner;
  bool inner_is_row;

  Walk(const OperandLayout& l, std::int64_t rows, std::int64_t columns)
      : layout(l), elements(static_cast<int>(rows * columns)), by_elements(elements) {
    const auto magnitude = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
    inner_is_row = columns == 1 || (rows > 1 && magnitude(l.row_stride) < magnitude(l.column_stride));
    inner = static_cast<int>(inner_is_row ? rows : columns);
    by_inner = Divisor(inner);
  }

  /// Calls visitor(product, row, column) for this thread's share of `products` matrices.
  template <class Visitor>
  __device__ void for_each(int products, Visitor&& visitor) const {
#pragma unroll 4
    for (int e = static_cast<int>(threadIdx.x); e < products * elements; e += threads_per_block) {
      const int product = by_elements.quotient(e);
      const int within = e - product * elements;
      const int slow = by_inner.quotient(within);
      const int fast = within - slow * inner;
      visitor(product, inner_is_row ? fast : slow, inner_is_row ? slow : fast);
    }
  }
  template <class T>
  [[nodiscard]] __device__ T* place(T* data, std::int64_t product, int row, int column) const {
    return product_base(data, layout, product) + row * layout.row_stride + column * layout.column_stride;
  }
};

struct Work {
  Walk a;
  Walk b;
  Walk c;
  std::int64_t products;
  int k;
  int m_padded;  ///< to whole patches
  int n_padded;
  int threads_per_product;
  int patches_down;
  Divisor by_threads_per_product;
  Divisor by_patches_down;
  int products_per_block;
};

template <class T>
struct alignas(std::min<std::size_t>(16, patch * sizeof(T))) Patch {
  T x[patch];
};

template <class In, class Out>
__global__ void __launch_bounds__(threads_per_block)
    small_kernel(const __grid_constant__ Work w, const In* a, const In* b, Out* c, const Epilogue<In, Out> epilogue) {
  using Accumulator = DeviceAccumulator<In>;
  extern __shared__ __align__(16) char shared[];
  In* const shared_a = reinterpret_cast<In*>(shared);
  In* const shared_b = shared_a + w.products_per_block * w.k * w.m_padded;
  Accumulator* const sums = reinterpret_cast<Accumulator*>(shared);

  const int thread = static_cast<int>(threadIdx.x);
  const int mine = w.by_threads_per_product.quotient(thread);
  const int within = thread - mine * w.threads_per_product;
  const int patches_before = w.by_patches_down.quotient(within);
  const int column = patches_before * patch;
  const int row = (within - patches_before * w.patches_down) * patch;

  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * w.products_per_block;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * w.products_per_block; first < w.products;
       first += step) {
    const auto products = static_cast<int>(min(w.products - first, std::int64_t{w.products_per_block}));
    w.a.for_each(products, [&](int q, int i, int p) {
      shared_a[(q * w.k + p) * w.m_padded + i] = *w.a.place(a, first + q, i, p);
    });
    w.b.for_each(products, [&](int q, int p, int j) {
      shared_b[(q * w.k + p) * w.n_padded + j] = *w.b.place(b, first + q, p, j);
    });
    __syncthreads();

    Accumulator sum[patch][patch] = {};
    if (mine < products) {
      const In* left = shared_a + mine * w.k * w.m_padded + row;
      const In* right = shared_b + mine * w.k * w.n_padded + column;
#pragma unroll 2
      for (int p = 0; p < w.k; ++p, left += w.m_padded, right += w.n_padded) {
        const auto x = *reinterpret_cast<const Patch<In>*>(left);
        const auto y = *reinterpret_cast<const Patch<In>*>(right);
#pragma unroll
        for (int i = 0; i < patch; ++i)
#pragma unroll
          for (int j = 0; j < patch; ++j) sum[i][j] = multiply_add(widen(x.x[i]), widen(y.x[j]), sum[i][j]);
      }
    }
    __syncthreads();

    if (mine < products) {
      Accumulator* to = sums + (mine * w.m_padded + row) * w.n_padded + column;
#pragma unroll
      for (int i = 0; i < patch; ++i)
#pragma unroll
        for (int j = 0; j < patch; ++j) to[i * w.n_padded + j] = sum[i][j];
    }
    __syncthreads();
    w.c.for_each(products, [&](int q, int i, int j) {
      epilogue.store(w.c.place(c, first + q, i, j), sums[(q * w.m_padded + i) * w.n_padded + j], i, j);
    });
    __syncthreads();
  }
}

std::int64_t padded(std::int64_t x) { return (x + patch - 1) / patch * patch; }

std::int64_t shared_bytes_per_product(const GemmDescription& d) {
  const std::int64_t operands = (padded(d.m) + padded(d.n)) * d.k * size_in_bytes(d.types.input);
  const std::int64_t sums = padded(d.m) * padded(d.n) * size_in_bytes(accumulator_type(d.types.input));
  return std::max((operands + 15) / 16 * 16, sums);
}

std::int64_t threads_per_product(const GemmDescription& d) { return padded(d.m) / patch * (padded(d.n) / patch); }

class BatchedSmall final : public DeviceProduct {
 public:
  BatchedSmall(const GemmDescription& d, const Device& device) : description_(d) {
    // Enough blocks for every SM come before full blocks.
    const std::int64_t most =
        std::min(threads_per_block / threads_per_product(d), shared_limit / shared_bytes_per_product(d));
    const std::int64_t spread = (d.batch_count - 1) / (2 * device.sm_count) + 1;
    products_per_block_ = std::min(most, spread);
    blocks_ = std::min<std::int64_t>((d.batch_count - 1) / products_per_block_ + 1, 1 << 20);
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmDescription& d = description_;
    const auto threads = static_cast<int>(threads_per_product(d));
    const auto patches_down = static_cast<int>(padded(d.m) / patch);
    const Work work{.a = Walk(d.a, d.m, d.k),
                    .b = Walk(d.b, d.k, d.n),
                    .c = Walk(d.c, d.m, d.n),
                    .products = d.batch_count,
                    .k = static_cast<int>(d.k),
                    .m_padded = static_cast<int>(padded(d.m)),
                    .n_padded = static_cast<int>(padded(d.n)),
                    .threads_per_product = threads,
                    .patches_down = patches_down,
                    .by_threads_per_product = Divisor(threads),
                    .by_patches_down = Divisor(patches_down),
                    .products_per_block = static_cast<int>(products_per_block_)};
    return with_types(d.types, [&]<class In, class Out>() {
      const GemmArguments& arguments = launch.arguments;
      small_kernel<In, Out><<<static_cast<unsigned>(blocks_), threads_per_block, shared_bytes(), launch.stream>>>(
          work, static_cast<const In*>(arguments.a), static_cast<const In*>(arguments.b),
          static_cast<Out*>(arguments.c), Epilogue<In, Out>(d, arguments));
      return check_launch("batched_small");
    });
  }
  [[nodiscard]] std::string blocking() const override {
    return "products=" + std::to_string(products_per_block_) + " blocks=" + std::to_string(blocks_);
  }
  [[nodiscard]] double model_bytes() const override {
    const GemmDescription& d = description_;
    return static_cast<double>(
        ((d.m + d.n) * d.k * size_in_bytes(d.types.input) + d.m * d.n * size_in_bytes(d.types.output)) * d.batch_count);
  }

 private:
  [[nodiscard]] std::size_t shared_bytes() const {
    return static_cast<std::size_t>(products_per_block_ * shared_bytes_per_product(description_));
  }

  GemmDescription description_;
  std::int64_t products_per_block_;
  std::int64_t blocks_;
};

}  // namespace

const Kernel batched_small{
    .name = "batched_small",
    .role = "engine",
    .summary = "whole products in shared memory, several a block",
    .types = all_gemm_types(),
    .refuses = [](const plan::Problem& p, const Device&) -> std::string_view {
      const GemmDescription& d = p.description;
      if (d.m > 64 || d.n > 64 || d.k > 4096) return "a block has no threads for more than 64 x 64 sums";
      if (shared_bytes_per_product(d) > shared_limit) return "the operands of a product do not fit in 48 KiB";
      return "";
    },
    .candidates = [](const plan::Problem& p, const Device& device) -> std::vector<Candidate> {
      const GemmDescription& d = p.description;
      // Each product is a tile; an SM computes as many at a time as a block has threads for.
      const auto at_a_time = static_cast<double>(std::max<std::int64_t>(1, threads_per_block / threads_per_product(d)));
      return {{{},
               {.tiles = static_cast<double>(d.batch_count),
                .slots = at_a_time * device.sm_count,
                .steps = static_cast<double>(d.k),
                .bytes = BatchedSmall(d, device).model_bytes(),
                .stream_k = true}}};
    },
    .make = [](const plan::Problem& p, const Device& device, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<BatchedSmall>(p.description, device);
    }};

}  // namespace exactile::cuda
