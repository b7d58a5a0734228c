// SPDX-License-Identifier: Apache-2.0
// `outer_product`: k = 1, a column times a row. A thread holds some neighbouring elements of the row and multiplies
// them with elements of the column. Each element of C is one product, rounded once in the type that sums: the same bits
// as from any other kernel that has that product exactly, but for the sign of 0. Traffic model: C once. Limit: stores.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "cuda/kernels/kernels.hpp"
#include "cuda/tile/dispatch.cuh"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/tiles.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace {

constexpr int threads_per_block = 128;
constexpr int store_bytes = 16;  // of a thread, where rows of C allow it
constexpr int rows_per_thread = 4;
constexpr std::int64_t most_blocks = 65535;

template <class Out>
inline constexpr int width = store_bytes / static_cast<int>(sizeof(Out));  // elements of a row that a thread computes

template <class Out>
struct alignas(store_bytes) Words {
  Out x[width<Out>];
};

template <class In, class Out>
__global__ void __launch_bounds__(threads_per_block)
    outer_kernel(const __grid_constant__ GemmDescription d, const In* a, const In* b, Out* c, int across,
                 bool is_aligned, const __grid_constant__ Epilogue<In, Out> epilogue) {
  start_kernel_after();
  wait_for_kernel_before();
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * across + thread % across) * width<Out>;
  const std::int64_t first_row =
      (static_cast<std::int64_t>(blockIdx.y) * (threads_per_block / across) + thread / across) * rows_per_thread;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * (threads_per_block / across) * rows_per_thread;
  if (first >= d.n) return;
  const int count = static_cast<int>(min(d.n - first, std::int64_t{width<Out>}));
  for (std::int64_t product = blockIdx.z; product < d.batch_count; product += gridDim.z) {
    const In* const column = product_base(a, d.a, product);
    const In* const row = product_base(b, d.b, product);
    Out* const to = product_base(c, d.c, product);
    DeviceAccumulator<In> right[width<Out>];
#pragma unroll
    for (int e = 0; e < width<Out>; ++e)
      right[e] = e < count ? widen(row[(first + e) * d.b.column_stride]) : DeviceAccumulator<In>{};
    for (std::int64_t top = first_row; top < d.m; top += step) {
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r) {
        const std::int64_t i = top + r;
        if (i >= d.m) break;
        const DeviceAccumulator<In> left = widen(column[i * d.a.row_stride]);
        Out* const place = to + i * d.c.row_stride + first * d.c.column_stride;
        if (is_aligned) {
          Words<Out> words;
#pragma unroll
          for (int e = 0; e < width<Out>; ++e) {
            const DeviceAccumulator<In> sum = multiply(left, right[e]);
            words.x[e] = narrow<Out>(epilogue.is_plain ? sum : epilogue.value(sum, {}, i, first + e));
          }
          *reinterpret_cast<Words<Out>*>(place) = words;
        } else {
#pragma unroll
          for (int e = 0; e < width<Out>; ++e)
            if (e < count) epilogue.store(place + e * d.c.column_stride, multiply(left, right[e]), i, first + e);
        }
      }
    }
  }
}

/// Whether a thread's elements are whole aligned words of C, none of which is read.
template <class Out>
[[nodiscard]] bool stores_words(const GemmDescription& d, const GemmArguments& arguments) {
  const auto fits = [](std::int64_t elements) { return elements % width<Out> == 0; };
  return arguments.beta.is_zero() && !d.c.pointer_array && d.c.column_stride == 1 && fits(d.n) &&
         fits(d.c.row_stride) && fits(d.c.batch_stride) &&
         reinterpret_cast<std::uintptr_t>(arguments.c) % store_bytes == 0;
}

class OuterProduct final : public DeviceProduct {
 public:
  OuterProduct(const GemmDescription& description, const Device& device)
      : is_transposed_(description.c.row_stride < description.c.column_stride),
        description_(is_transposed_ ? plan::transposed(description) : description),
        can_start_early_(device.compute_capability >= 90) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmDescription& d = description_;
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    return with_types(d.types, [&]<class In, class Out>() -> Status {
      const auto blocks = [](std::int64_t work, std::int64_t of_a_block) {
        return static_cast<unsigned>(std::clamp<std::int64_t>((work + of_a_block - 1) / of_a_block, 1, most_blocks));
      };
      const std::int64_t needed = (d.n - 1) / width<Out> + 1;
      int across = 1;  // threads of a block along a row
      while (across < threads_per_block && across < needed) across *= 2;
      const dim3 grid(static_cast<unsigned>((needed - 1) / across + 1),
                      blocks(d.m, threads_per_block / across * rows_per_thread), blocks(d.batch_count, 1));
      return check(launch_early(can_start_early_, outer_kernel<In, Out>, grid, threads_per_block, 0, launch.stream, d,
                                static_cast<const In*>(arguments.a), static_cast<const In*>(arguments.b),
                                static_cast<Out*>(arguments.c), across, stores_words<Out>(d, arguments),
                                Epilogue<In, Out>(d, arguments)),
                   "launch", "outer_product");
    });
  }
  [[nodiscard]] std::string blocking() const override { return "rows=" + std::to_string(rows_per_thread); }
  [[nodiscard]] double model_bytes() const override {
    const GemmDescription& d = description_;
    return static_cast<double>(d.batch_count) * (static_cast<double>((d.m + d.n) * size_in_bytes(d.types.input)) +
                                                 static_cast<double>(d.m * d.n * size_in_bytes(d.types.output)));
  }

 private:
  bool is_transposed_;           ///< computed as C^T = B^T A^T, whose rows are the shorter way
  GemmDescription description_;  ///< as computed
  bool can_start_early_;
};

}  // namespace

const Kernel outer_product{
    .name = "outer_product",
    .role = "engine",
    .summary = "a column times a row, straight from and to memory",
    .types = all_gemm_types(),
    .refuses = [](const plan::Problem& p, const Device&) -> std::string_view {
      constexpr std::int64_t most = std::int64_t{1} << 36;
      if (std::max(p.description.m, p.description.n) > most) return "needs m, n <= 2^36";
      return p.description.k == 1 ? "" : "needs k = 1";
    },
    .candidates = [](const plan::Problem& p, const Device& device) -> std::vector<Candidate> {
      const GemmDescription& d = p.description;
      Demand demand = even_demand(d, device);
      demand.path = std::min(d.c.column_stride, d.c.row_stride) == 1 ? 0 : 2;  // else stored element by element
      return {{{}, demand}};
    },
    .make = [](const plan::Problem& p, const Device& device, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<OuterProduct>(p.description, device);
    }};

}  // namespace exactile::cuda
