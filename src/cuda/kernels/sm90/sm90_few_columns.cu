// SPDX-License-Identifier: Apache-2.0
// `sm90_few_columns`: bf16 and f16 with many rows, at most 32 columns and 64 of K (or the transposed
// product). B stays in registers; warps stream 64 or 32 rows of A a stage, one stage ahead, through mma.sync, and store
// C. Traffic model: A, B and C once. Limit: memory.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/kernels/sm90/few_rows/reader.cuh"
#include "cuda/kernels/sm90/sm90_kernels.hpp"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/tiles.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace {

using sm90::few_rows::gather;
using sm90::few_rows::Words;

constexpr std::string_view name = "sm90_few_columns";
constexpr int threads = 256;
constexpr int residents = 2;  // blocks of an SM
constexpr int most_columns = 32;
constexpr int stage_terms = 32;  // of K: 16 bytes in each of four lanes
constexpr int most_stages = 2;   // of K

template <class In>
struct Work {
  const In* a;
  OperandLayout a_layout;
  const In* b;
  OperandLayout b_layout;
  int k;
  sm90::native::Output<float> out;
};

/// In: bf16 or f16; stages: of K; wide: whether 16 bytes of A can be read at a time.
template <class In, int stages, bool wide>
class Rows {
 public:
  static constexpr int fragments = 4 / stages;  // of 16 rows
  static constexpr int rows = 16 * fragments;

  __device__ explicit Rows(const Work<In>& work) : work_(work) {
#pragma unroll
    for (int s = 0; s < stages; ++s)
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const int column = 8 * (group() / 2) + 2 * q + group() % 2;
        b_[s][q] = column < work.out.columns ? gather(work.b + column * work.b_layout.column_stride,
                                                      work.b_layout.row_stride, s * stage_terms + 8 * member(), work.k)
                                             : Words::zero();
      }
  }

  /// Member t of group g has 16 bytes of K from 16t on, of rows g and g + 8 of each 16.
  struct Stage {
    Words a[stages][2 * fragments];
  };

  __device__ void read(Stage& to, int first_row) const {
#pragma unroll
    for (int s = 0; s < stages; ++s)
#pragma unroll
      for (int i = 0; i < 2 * fragments; ++i) {
        const int row = first_row + 8 * i + group();
        const int k = s * stage_terms + 8 * member();
        const In* const data = work_.a + row * work_.a_layout.row_stride;
        if (row >= work_.out.rows || k >= work_.k) {
          to.a[s][i] = Words::zero();
        } else if constexpr (wide) {
          to.a[s][i] = {.all = __ldcs(reinterpret_cast<const uint4*>(data + k))};
        } else {
          to.a[s][i] = gather(data, work_.a_layout.column_stride, k, work_.k);
        }
      }
  }

  __device__ void multiply_and_store(const Stage& stage, int first_row) const {
#pragma unroll
    for (int f = 0; f < fragments; ++f) {
      float sums[4][4] = {};
#pragma unroll
      for (int s = 0; s < stages; ++s)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const Words& top = stage.a[s][2 * f];
          const Words& bottom = stage.a[s][2 * f + 1];
          const std::uint32_t a[4] = {top.word[2 * half], bottom.word[2 * half], top.word[2 * half + 1],
                                      bottom.word[2 * half + 1]};
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            const std::uint32_t b[2] = {b_[s][q].word[2 * half], b_[s][q].word[2 * half + 1]};
            isa::mma<In>(sums[q], a, b);
          }
        }
      if (work_.out.has_scales()) scale(sums, first_row + 16 * f + group());
      store(sums, 0, first_row + 16 * f + group());
      store(sums, 2, first_row + 16 * f + group() + 8);
    }
  }

 private:
  static __device__ int group() { return static_cast<int>(threadIdx.x) % 32 / 4; }
  static __device__ int member() { return static_cast<int>(threadIdx.x) % 4; }

  /// Sums of rows `row` and `row` + 8, laid out as store() says.
  __device__ void scale(float (&sums)[4][4], std::int64_t row) const {
    const auto& c = work_.out;
#pragma unroll
    for (int e = 0; e < 16; ++e) {
      const std::int64_t i = row + (e % 4) / 2 * 8;
      const int j = 8 * member() + 2 * (e / 4) + e % 2;
      if (i < c.rows && j < c.columns) sums[e / 4][e % 4] = c.scaled(sums[e / 4][e % 4], i, j);
    }
  }
  /// Columns 8t ... 8t + 7 of a row, which lie at [q][half], [q][half + 1].
  __device__ void store(const float (&sums)[4][4], int half, std::int64_t row) const {
    const auto& c = work_.out;
    const int column = 8 * member();
    if (row >= c.rows || column >= c.columns) return;
    if (!c.is_aligned) return store_elements(sums, half, row, column);
    const std::int64_t at = row * c.layout.row_stride + column;
    if (c.type == ElementType::f32) {
      auto* const to = reinterpret_cast<float4*>(static_cast<float*>(c.data) + at);
#pragma unroll
      for (int i = 0; i < 2; ++i)
        to[i] = {c.alpha * sums[2 * i][half], c.alpha * sums[2 * i][half + 1], c.alpha * sums[2 * i + 1][half],
                 c.alpha * sums[2 * i + 1][half + 1]};
    } else {
      Words words;
#pragma unroll
      for (int q = 0; q < 4; ++q)
        words.word[q] = c.template half_pair<In>(c.alpha * sums[q][half], c.alpha * sums[q][half + 1]);
      *reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(c.data) + at) = words.all;
    }
  }
  __device__ void store_elements(const float (&sums)[4][4], int half, std::int64_t row, int column) const {
    const auto& c = work_.out;
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      if (column + e >= c.columns) break;
      const float sum = sums[e / 2][half + e % 2];
      const std::int64_t at = row * c.layout.row_stride + (column + e) * c.layout.column_stride;
      c.store(c.data, at, c.is_plain ? sum : c.value(sum, c.reads_c ? c.load(c.data, at) : 0.0F, row, column + e));
    }
  }

  const Work<In>& work_;
  Words b_[stages][4];
};

template <class In, int stages, bool wide>
__global__ void __launch_bounds__(threads, residents)
    few_columns_kernel(const __grid_constant__ Work<In> work, int tiles) {
  using R = Rows<In, stages, wide>;
  start_kernel_after();
  wait_for_kernel_before();
  const int warps = static_cast<int>(gridDim.x) * (threads / 32);
  int tile = static_cast<int>(blockIdx.x) * (threads / 32) + static_cast<int>(threadIdx.x) / 32;
  if (tile >= tiles) return;
  const R rows(work);
  typename R::Stage now, next;
  rows.read(now, tile * R::rows);
  for (; tile < tiles; tile += warps) {
    if (tile + warps < tiles) rows.read(next, (tile + warps) * R::rows);
    rows.multiply_and_store(now, tile * R::rows);
    now = next;
  }
}

[[nodiscard]] bool is_transposed(const GemmDescription& d) { return d.m < d.n; }
[[nodiscard]] GemmDescription as_computed(const GemmDescription& d) {
  return is_transposed(d) ? plan::transposed(d) : d;
}

template <class In>
class Product final : public DeviceProduct {
 public:
  Product(const GemmDescription& d, const Device& device)
      : is_transposed_(is_transposed(d)), d_(as_computed(d)), device_(device) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments arguments = is_transposed_ ? plan::transposed(launch.arguments) : launch.arguments;
    Work<In> work{.a = static_cast<const In*>(arguments.a),
                  .a_layout = d_.a,
                  .b = static_cast<const In*>(arguments.b),
                  .b_layout = d_.b,
                  .k = static_cast<int>(d_.k),
                  .out = sm90::native::output_of<float>(d_, arguments, is_transposed_)};
    const std::int64_t of_c = 16 / size_in_bytes(d_.types.output);
    const auto is_aligned = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; };
    work.out.is_aligned = d_.bias == Bias::none && d_.activation == Activation::none && !work.out.reads_c &&
                          d_.c.column_stride == 1 && d_.c.row_stride % of_c == 0 && d_.n % 8 == 0 &&
                          is_aligned(arguments.c);
    const bool is_wide =
        d_.a.column_stride == 1 && d_.a.row_stride % 8 == 0 && d_.k % 8 == 0 && is_aligned(arguments.a);
    if (d_.k <= stage_terms)
      return is_wide ? enqueue<1, true>(work, launch.stream) : enqueue<1, false>(work, launch.stream);
    return is_wide ? enqueue<2, true>(work, launch.stream) : enqueue<2, false>(work, launch.stream);
  }

  [[nodiscard]] std::string blocking() const override { return is_transposed_ ? "as C^T" : ""; }
  [[nodiscard]] double model_bytes() const override {
    return static_cast<double>((d_.m + d_.n) * d_.k * size_in_bytes(d_.types.input) +
                               d_.m * d_.n * size_in_bytes(d_.types.output));
  }

 private:
  template <int stages, bool wide>
  [[nodiscard]] Status enqueue(const Work<In>& work, cudaStream_t stream) const {
    const std::int64_t rows = Rows<In, stages, wide>::rows;
    const std::int64_t tiles = (d_.m + rows - 1) / rows;
    const std::int64_t blocks = std::min<std::int64_t>((tiles - 1) / (threads / 32) + 1,
                                                       static_cast<std::int64_t>(residents) * device_.sm_count);
    return check(launch_early(true, few_columns_kernel<In, stages, wide>, static_cast<unsigned>(blocks), threads, 0,
                              stream, work, static_cast<int>(tiles)),
                 "launch", name);
  }

  bool is_transposed_;
  GemmDescription d_;  ///< as computed
  const Device& device_;
};

std::string_view refuses(const plan::Problem& problem, const Device&) {
  const GemmDescription d = as_computed(problem.description);
  constexpr std::int64_t most = 1 << 30;
  if (d.n > most_columns || d.k > most_stages * stage_terms) return "for at most 32 rows or columns and K of 64";
  if (d.m > most) return "needs sizes of at most 2^30";
  if (d.batch_count > 1 || d.a.pointer_array || d.b.pointer_array || d.c.pointer_array) return "not for batches";
  if (d.a.column_stride != 1) return "needs the larger operand contiguous along k";
  return {};
}

std::vector<Candidate> candidates(const plan::Problem& p, const Device& device) {
  const GemmDescription d = as_computed(p.description);
  Demand demand = even_demand(d, device);
  demand.path = d.c.column_stride == 1 ? 0 : 2;
  return {{{}, demand}};
}

using enum ElementType;
constexpr GemmTypes types[] = {{bf16, bf16}, {bf16, f32}, {f16, f16}, {f16, f32}};

}  // namespace

const Kernel sm90_few_columns{
    .name = name,
    .role = "engine",
    .summary = "at most 32 columns and K of 64: B stays in registers, rows of A stream through mma.sync",
    .types = types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses = refuses,
    .candidates = candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      if (p.description.types.input == bf16) return std::make_unique<Product<__nv_bfloat16>>(p.description, device);
      return std::make_unique<Product<__half>>(p.description, device);
    },
    .applies_scales = true};

}  // namespace exactile::cuda
