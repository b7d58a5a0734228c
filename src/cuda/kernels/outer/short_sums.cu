// SPDX-License-Identifier: Apache-2.0
// `short_sums`: k <= 64, where C costs more than the products do. A thread has 8 rows of 16 bytes of C, takes its terms
// straight from the caches, and goes on to further rows of the same columns, so that those of B stay in L1. Sums are
// taken in pieces of 32 of K (see summation_order.hpp). Any strides; what is aligned moves by 16 bytes. Traffic model:
// each element once. Limit: memory; from a K of some 16 on the loads of A.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/summation_order.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace {

constexpr std::string_view name = "short_sums";
constexpr std::array types{GemmTypes{ElementType::f32, ElementType::f32},
                           GemmTypes{ElementType::f64, ElementType::f64}};

constexpr int threads_per_block = 128;
constexpr int rows_per_thread = 8;
constexpr int most_terms = 64;
constexpr int vector_bytes = 16;

template <class T>
inline constexpr int width = vector_bytes / static_cast<int>(sizeof(T));

template <class T>
struct alignas(vector_bytes) Vector {
  T at[width<T>];
};

/// A product whose description is the one computed. Passed by value.
template <class T>
struct ShortWork {
  GemmDescription d;
  const T* a;
  const T* b;
  T* c;
  int across;  ///< threads of a block along a row of C
  bool c_is_wide;
  Epilogue<T, T> epilogue;
};

/// Elements of one operand from `from` on, neighbours `stride` apart; those beyond `count` are 0.
template <class T, bool wide>
[[nodiscard]] __device__ Vector<T> load(const T* from, std::int64_t stride, int count) {
  if constexpr (wide) return *reinterpret_cast<const Vector<T>*>(from);
  Vector<T> x{};
#pragma unroll
  for (int e = 0; e < width<T>; ++e)
    if (e < count) x.at[e] = from[e * stride];
  return x;
}

/// The sums of k from begin to end; `rows[r]` is row r of A, `columns` this thread's columns of B.
template <class T, bool a_is_wide, bool b_is_wide>
__device__ void add_terms(T (&sums)[rows_per_thread][width<T>], const T* const (&rows)[rows_per_thread],
                          const T* columns, const GemmDescription& d, int count, int begin, int end) {
  for (int p = begin; p < end; p += width<T>) {
    Vector<T> left[rows_per_thread];
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r)
      left[r] = load<T, a_is_wide>(rows[r] + p * d.a.column_stride, d.a.column_stride, end - p);
#pragma unroll
    for (int e = 0; e < width<T>; ++e) {
      if (!a_is_wide && p + e >= end) break;
      const Vector<T> right = load<T, b_is_wide>(columns + (p + e) * d.b.row_stride, d.b.column_stride, count);
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r)
#pragma unroll
        for (int j = 0; j < width<T>; ++j) sums[r][j] = multiply_add(left[r].at[e], right.at[j], sums[r][j]);
    }
  }
}

template <class T, bool a_is_wide, bool b_is_wide>
__global__ void __launch_bounds__(threads_per_block, 4) short_sums_kernel(const __grid_constant__ ShortWork<T> work) {
  start_kernel_after();
  wait_for_kernel_before();
  const GemmDescription& d = work.d;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * work.across + thread % work.across) * width<T>;
  const int down = threads_per_block / work.across;
  const std::int64_t first_row =
      (static_cast<std::int64_t>(blockIdx.y) * down + thread / work.across) * rows_per_thread;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * down * rows_per_thread;
  if (first >= d.n) return;
  const int count = static_cast<int>(min(d.n - first, std::int64_t{width<T>}));
  const int k = static_cast<int>(d.k);
  for (std::int64_t product = blockIdx.z; product < d.batch_count; product += gridDim.z) {
    const T* const a = product_base(work.a, d.a, product);
    const T* const columns = product_base(work.b, d.b, product) + first * d.b.column_stride;
    T* const to = product_base(work.c, d.c, product) + first * d.c.column_stride;
    for (std::int64_t top = first_row; top < d.m; top += step) {
      const T* rows[rows_per_thread];
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r) rows[r] = a + min(top + r, d.m - 1) * d.a.row_stride;
      T sums[rows_per_thread][width<T>] = {};
      add_terms<T, a_is_wide, b_is_wide>(sums, rows, columns, d, count, 0, min(k, tile_piece_k));
      if (k > tile_piece_k) {
        T piece[rows_per_thread][width<T>] = {};
        add_terms<T, a_is_wide, b_is_wide>(piece, rows, columns, d, count, tile_piece_k, k);
#pragma unroll
        for (int r = 0; r < rows_per_thread; ++r)
#pragma unroll
          for (int j = 0; j < width<T>; ++j) sums[r][j] = add(sums[r][j], piece[r][j]);
      }
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r) {
        const std::int64_t i = top + r;
        if (i >= d.m) break;
        T* const place = to + i * d.c.row_stride;
        if (work.c_is_wide) {
          Vector<T> x;
#pragma unroll
          for (int j = 0; j < width<T>; ++j) x.at[j] = sums[r][j];
          *reinterpret_cast<Vector<T>*>(place) = x;
        } else {
#pragma unroll
          for (int j = 0; j < width<T>; ++j)
            if (j < count) work.epilogue.store(place + j * d.c.column_stride, sums[r][j], i, first + j);
        }
      }
    }
  }
}

/// Whether the elements of a row lie side by side in whole aligned vectors of `width`. `data` is null where it is not
/// known yet.
[[nodiscard]] bool is_wide(const void* data, const OperandLayout& layout, std::int64_t columns, std::int64_t width) {
  return layout.column_stride == 1 && !layout.pointer_array && layout.row_stride % width == 0 && columns % width == 0 &&
         layout.batch_stride % width == 0 && reinterpret_cast<std::uintptr_t>(data) % vector_bytes == 0;
}

class ShortSums final : public DeviceProduct {
 public:
  ShortSums(const GemmDescription& description, const Device& device)
      : is_transposed_(description.c.row_stride < description.c.column_stride),
        d_(is_transposed_ ? plan::transposed(description) : description),
        sm_count_(device.sm_count),
        can_start_early_(device.compute_capability >= 90) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    return d_.types.input == ElementType::f32 ? enqueue<float>(launch) : enqueue<double>(launch);
  }
  [[nodiscard]] std::string blocking() const override { return "TM=" + std::to_string(rows_per_thread); }
  /// A work tile is a block's rows and columns of C, a K-step one term of them.
  [[nodiscard]] Demand demand(const Device& device) const {
    constexpr int blocks_of_sm = 2048 / threads_per_block;
    const std::int64_t width = vector_bytes / size_in_bytes(d_.types.input);
    const int across = threads_across();
    const auto blocks = [](std::int64_t size, std::int64_t of_block) {
      return static_cast<double>(core::ceil_divide(size, of_block));
    };
    const bool is_wide_everywhere = is_wide(nullptr, d_.a, d_.k, width) && is_wide(nullptr, d_.b, d_.n, width);
    return {.tiles = blocks(d_.m, threads_per_block / across * rows_per_thread) * blocks(d_.n, across * width) *
                     static_cast<double>(d_.batch_count),
            .slots = static_cast<double>(device.sm_count) * blocks_of_sm,
            .ctas = blocks_of_sm,
            .steps = static_cast<double>(d_.k),
            .bytes = model_bytes(),
            .path = d_.c.column_stride != 1 ? 2
                    : is_wide_everywhere    ? 0
                                            : 1,
            .stream_k = true};
  }
  [[nodiscard]] double model_bytes() const override {
    return static_cast<double>(size_in_bytes(d_.types.input)) * static_cast<double>(d_.batch_count) *
           static_cast<double>((d_.m + d_.n) * d_.k + d_.m * d_.n);
  }

 private:
  template <class T>
  [[nodiscard]] Status enqueue(const Launch& launch) const {
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    const Epilogue<T, T> epilogue(d_, arguments);
    const bool a_is_wide = is_wide(arguments.a, d_.a, d_.k, width<T>);
    const bool b_is_wide = is_wide(arguments.b, d_.b, d_.n, width<T>);
    const bool c_is_wide = epilogue.is_plain && is_wide(arguments.c, d_.c, d_.n, width<T>);
    const int across = threads_across();
    const ShortWork<T> work{d_,
                            static_cast<const T*>(arguments.a),
                            static_cast<const T*>(arguments.b),
                            static_cast<T*>(arguments.c),
                            across,
                            c_is_wide,
                            epilogue};
    const auto kernel = a_is_wide
                            ? (b_is_wide ? short_sums_kernel<T, true, true> : short_sums_kernel<T, true, false>)
                            : (b_is_wide ? short_sums_kernel<T, false, true> : short_sums_kernel<T, false, false>);
    return check(launch_early(can_start_early_, kernel, grid_of((d_.n - 1) / width<T> + 1, across), threads_per_block,
                              0, launch.stream, work),
                 "launch", name);
  }
  /// Threads of a block along a row of C.
  [[nodiscard]] int threads_across() const {
    const std::int64_t needed = (d_.n - 1) / (vector_bytes / size_in_bytes(d_.types.input)) + 1;
    int across = 1;
    while (across < threads_per_block && across < needed) across *= 2;
    return across;
  }
  /// Blocks go on to further rows where there are enough of them.
  [[nodiscard]] dim3 grid_of(std::int64_t needed, int across) const {
    constexpr std::int64_t blocks_per_sm = 32, most_blocks = 65535;
    const std::int64_t columns = (needed - 1) / across + 1;
    const std::int64_t products = std::min(d_.batch_count, most_blocks);
    const std::int64_t rows = (d_.m - 1) / (threads_per_block / across * rows_per_thread) + 1;
    const std::int64_t enough = (blocks_per_sm * sm_count_ - 1) / columns / products + 1;
    return dim3(static_cast<unsigned>(columns), static_cast<unsigned>(std::min({rows, enough, most_blocks})),
                static_cast<unsigned>(products));
  }

  bool is_transposed_;  ///< computed as C^T = B^T A^T, whose rows are the shorter way
  GemmDescription d_;   ///< as computed
  int sm_count_;
  bool can_start_early_;
};

std::string_view why_refused(const plan::Problem& problem, const Device&) {
  const GemmDescription& d = problem.description;
  if (d.k > most_terms) return "needs k <= 64";
  if (std::max(d.m, d.n) > std::int64_t{1} << 36) return "needs m, n <= 2^36";
  if (problem.accuracy != Accuracy::standard && problem.accuracy != Accuracy::reduced)
    return "keeps the bound of the plain loop only";
  return "";
}

std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device) {
  return {{{}, ShortSums(problem.description, device).demand(device)}};
}

}  // namespace

const Kernel short_sums{
    .name = name,
    .role = "engine",
    .summary = "short K: 8 rows of 16 bytes of C a thread, straight from and to memory",
    .types = types,
    .refuses = why_refused,
    .candidates = candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<ShortSums>(p.description, device);
    }};

}  // namespace exactile::cuda
