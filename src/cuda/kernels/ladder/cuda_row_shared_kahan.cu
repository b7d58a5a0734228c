// SPDX-License-Identifier: Apache-2.0
// `cuda_row_shared_kahan`: one block for a row of C. The row of A is copied to shared memory, where every thread reads
// it; the threads stride over the columns. Kahan's summation, f32.
// A row too long for shared memory is done in pieces, which are then copied again for every stride.
// Traffic model: A once, B once for each row: mnk + mk elements, half of `cuda_naive`'s.
// Limit: B is still read m times, one multiply-add for each load. See docs/ladder/cuda_row_shared_kahan.md.
#include <algorithm>
#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/ladder/kahan.cuh"
#include "cuda/kernels/ladder/row_shared_kahan.hpp"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/tiles.hpp"

namespace exactile::cuda {
namespace {

constexpr int most_threads = 256;
/// 48 KiB: what every device gives a block that does not ask for more, and room for four blocks on most.
constexpr std::int64_t longest_piece = 12288;
constexpr int unrolled = 8;
constexpr std::array row_shared_types{GemmTypes{ElementType::f32, ElementType::f32}};

__global__ void __launch_bounds__(most_threads)
    row_shared_kahan_kernel(GemmDescription d, const float* a, const float* b, float* c,
                            Epilogue<float, float> epilogue, std::int64_t piece) {
  extern __shared__ float piece_of_a[];
  for (std::int64_t index = blockIdx.x; index < d.m * d.batch_count; index += gridDim.x) {
    const std::int64_t product = index / d.m;
    const std::int64_t i = index % d.m;
    const float* const row = product_base(a, d.a, product) + i * d.a.row_stride;
    for (std::int64_t first = 0; first < d.n; first += blockDim.x) {
      const std::int64_t j = first + threadIdx.x;
      const float* term = product_base(b, d.b, product) + j * d.b.column_stride;
      KahanSum sum;
      for (std::int64_t begin = 0; begin < d.k; begin += piece) {
        const int length = static_cast<int>(min(piece, d.k - begin));
        if (first == 0 || piece < d.k) {
          __syncthreads();  // until nobody reads the piece before
          for (int p = threadIdx.x; p < length; p += blockDim.x) piece_of_a[p] = row[(begin + p) * d.a.column_stride];
          __syncthreads();
        }
        if (j >= d.n) continue;
#pragma unroll unrolled
        for (int p = 0; p < length; ++p, term += d.b.row_stride) sum.add_product(piece_of_a[p], *term);
      }
      if (j < d.n)
        epilogue.store(product_base(c, d.c, product) + i * d.c.row_stride + j * d.c.column_stride, sum.sum, i, j);
    }
  }
}

std::int64_t threads(const GemmDescription& d) { return std::min<std::int64_t>(core::round_up(d.n, 32), most_threads); }
std::int64_t piece(const GemmDescription& d) { return std::min(d.k, longest_piece); }

class RowSharedKahan final : public DeviceProduct {
 public:
  explicit RowSharedKahan(const GemmDescription& description) : description_(description) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    return launch_row_shared_kahan(description_, launch.arguments, launch.stream, "cuda_row_shared_kahan");
  }
  [[nodiscard]] std::string blocking() const override { return row_shared_blocking(description_); }
  [[nodiscard]] double model_bytes() const override { return row_shared_bytes(description_); }

 private:
  GemmDescription description_;
};

}  // namespace

Status launch_row_shared_kahan(const GemmDescription& d, const GemmArguments& arguments, cudaStream_t stream,
                               std::string_view kernel) {
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(d.m * d.batch_count, 0x7fffffff));
  // The compiler reads all of the last group of terms before it asks how many there are.
  const auto shared_bytes = static_cast<std::size_t>(core::round_up(piece(d), unrolled)) * sizeof(float);
  row_shared_kahan_kernel<<<blocks, static_cast<unsigned>(threads(d)), shared_bytes, stream>>>(
      d, static_cast<const float*>(arguments.a), static_cast<const float*>(arguments.b),
      static_cast<float*>(arguments.c), Epilogue<float, float>(d, arguments), piece(d));
  return check_launch(kernel);
}

double row_shared_bytes(const GemmDescription& d) { return tiled_bytes(d, 1, d.n); }

std::string row_shared_blocking(const GemmDescription& d) {
  return "threads=" + std::to_string(threads(d)) + " piece=" + std::to_string(piece(d));
}

const Kernel cuda_row_shared_kahan{
    .name = "cuda_row_shared_kahan",
    .role = "ladder",
    .summary = "one block per row of C, the row of A in shared memory, Kahan's summation",
    .types = row_shared_types,
    .refuses = [](const plan::Problem&, const Device&) -> std::string_view { return {}; },
    .candidates = one_candidate,
    .make = [](const plan::Problem& p, const Device&, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<RowSharedKahan>(p.description);
    }};

}  // namespace exactile::cuda
