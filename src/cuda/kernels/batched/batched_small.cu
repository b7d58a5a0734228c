// SPDX-License-Identifier: Apache-2.0
// `batched_small`: a block takes a few whole products at a time. It copies their operands to shared memory in the order
// in which they lie, each thread sums a 4 x 4 patch of one product over all of K in order, and the sums go back through
// shared memory, so that C is written in the order in which it lies.
// Traffic model: each element once. Limit: operands of one product must fit in 48 KiB. See
// docs/ladder/batched_small.md.
#include <algorithm>
#include <memory>
#include <string>

#include "cuda/kernels/batched/batched_kernels.hpp"
#include "cuda/tile/dispatch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda {
namespace {

constexpr int threads_per_block = 256;
constexpr int patch = 4;  // rows and columns of a thread's sums
constexpr int shared_limit = 48 * 1024;

/// x / divisor for x * divisor < 2^32.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(std::int64_t divisor)
      : divisor_(static_cast<std::uint32_t>(divisor)),
        reciprocal_(divisor == 1 ? 0 : static_cast<std::uint32_t>((std::int64_t{1} << 32) / divisor + 1)) {}
  [[nodiscard]] __device__ std::uint32_t quotient(std::uint32_t x) const {
    return divisor_ == 1 ? x : __umulhi(x, reciprocal_);
  }
  [[nodiscard]] __device__ std::uint32_t value() const { return divisor_; }

 private:
  std::uint32_t divisor_;
  std::uint32_t reciprocal_;
};

/// One matrix of each product, element by element in the order in which it lies.
struct Walk {
  OperandLayout layout;
  Divisor elements;  ///< of one product
  Divisor inner;     ///< along the side with the smaller stride
  bool inner_is_row;

  Walk(const OperandLayout& l, std::int64_t rows, std::int64_t columns) : layout(l), elements(rows * columns) {
    const auto magnitude = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
    inner_is_row = columns == 1 || (rows > 1 && magnitude(l.row_stride) < magnitude(l.column_stride));
    inner = Divisor(inner_is_row ? rows : columns);
  }

  /// Calls visitor(product, row, column) for this thread's share of `products` matrices.
  template <class Visitor>
  __device__ void for_each(std::uint32_t products, Visitor&& visitor) const {
#pragma unroll 4
    for (std::uint32_t e = threadIdx.x; e < products * elements.value(); e += threads_per_block) {
      const std::uint32_t product = elements.quotient(e);
      const std::uint32_t within = e - product * elements.value();
      const std::uint32_t slow = inner.quotient(within);
      const std::uint32_t fast = within - slow * inner.value();
      visitor(product, inner_is_row ? fast : slow, inner_is_row ? slow : fast);
    }
  }
  template <class T>
  [[nodiscard]] __device__ T* place(T* data, std::int64_t product, std::uint32_t row, std::uint32_t column) const {
    return product_base(data, layout, product) + row * layout.row_stride + column * layout.column_stride;
  }
};

struct Work {
  Walk a;
  Walk b;
  Walk c;
  std::int64_t products;
  int k;
  int n;
  int m_padded;  ///< to whole patches
  int n_padded;
  Divisor threads_per_product;
  Divisor patches_down;
  int products_per_block;
};

template <class T>
struct alignas(std::min<std::size_t>(16, patch * sizeof(T))) Patch {
  T x[patch];
};

template <class In, class Out>
__global__ void __launch_bounds__(threads_per_block)
    small_kernel(const __grid_constant__ Work w, const In* a, const In* b, Out* c, const Epilogue<In, Out> epilogue) {
  using Sum = DeviceSum<In>;
  extern __shared__ __align__(16) char shared[];
  In* const shared_a = reinterpret_cast<In*>(shared);
  In* const shared_b = shared_a + w.products_per_block * w.k * w.m_padded;
  Sum* const sums = reinterpret_cast<Sum*>(shared);

  const std::uint32_t mine = w.threads_per_product.quotient(threadIdx.x);
  const std::uint32_t within = threadIdx.x - mine * w.threads_per_product.value();
  const std::uint32_t column = w.patches_down.quotient(within) * patch;
  const std::uint32_t row = (within - column / patch * w.patches_down.value()) * patch;

  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * w.products_per_block;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * w.products_per_block; first < w.products;
       first += step) {
    const auto products = static_cast<std::uint32_t>(min(w.products - first, std::int64_t{w.products_per_block}));
    w.a.for_each(products, [&](std::uint32_t q, std::uint32_t i, std::uint32_t p) {
      shared_a[(q * w.k + p) * w.m_padded + i] = *w.a.place(a, first + q, i, p);
    });
    w.b.for_each(products, [&](std::uint32_t q, std::uint32_t p, std::uint32_t j) {
      shared_b[(q * w.k + p) * w.n_padded + j] = *w.b.place(b, first + q, p, j);
    });
    __syncthreads();

    Sum sum[patch][patch] = {};
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
      Sum* to = sums + (mine * w.m_padded + row) * w.n_padded + column;
#pragma unroll
      for (int i = 0; i < patch; ++i)
#pragma unroll
        for (int j = 0; j < patch; ++j) to[i * w.n_padded + j] = sum[i][j];
    }
    __syncthreads();
    w.c.for_each(products, [&](std::uint32_t q, std::uint32_t i, std::uint32_t j) {
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
    // Enough blocks for every multiprocessor come before full blocks.
    const std::int64_t most =
        std::min(threads_per_block / threads_per_product(d), shared_limit / shared_bytes_per_product(d));
    const std::int64_t spread = (d.batch_count - 1) / (2 * device.multiprocessors) + 1;
    products_per_block_ = std::min(most, spread);
    blocks_ = std::min<std::int64_t>((d.batch_count - 1) / products_per_block_ + 1, 1 << 20);
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmDescription& d = description_;
    const Work work{.a = Walk(d.a, d.m, d.k),
                    .b = Walk(d.b, d.k, d.n),
                    .c = Walk(d.c, d.m, d.n),
                    .products = d.batch_count,
                    .k = static_cast<int>(d.k),
                    .n = static_cast<int>(d.n),
                    .m_padded = static_cast<int>(padded(d.m)),
                    .n_padded = static_cast<int>(padded(d.n)),
                    .threads_per_product = Divisor(threads_per_product(d)),
                    .patches_down = Divisor(padded(d.m) / patch),
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
    .cost =
        [](const plan::Problem& p, const Device& device) {
          const GemmDescription& d = p.description;
          const BatchedSmall product(d, device);
          const auto batch = static_cast<double>(d.batch_count);
          const double moving = product.model_bytes() / (0.6 * device.memory_bytes_per_second);
          // A patch takes some 24 cycles a term of a multiprocessor's 16 warps or so.
          const double computing = batch * static_cast<double>(threads_per_product(d)) * static_cast<double>(d.k) *
                                   1.5 / device.multiprocessors / device.clock_hertz;
          const double alone = static_cast<double>(d.k) * 60 / device.clock_hertz;
          return 4e-6 + std::max(computing, alone) + moving;
        },
    .prepare = [](const plan::Problem& p, const Device& device) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<BatchedSmall>(p.description, device);
    }};

}  // namespace exactile::cuda
