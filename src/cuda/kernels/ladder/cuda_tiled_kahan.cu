// SPDX-License-Identifier: Apache-2.0
// `cuda_tiled_kahan`: a block of 16 x 16 threads computes a tile of C from tiles of A and B in shared memory, which are
// filled with zeros where the matrices end. Kahan's summation, f32.
// Traffic model: A once for each column of tiles, B once for each row of tiles: 2mnk / 16 elements for large products.
// Limit: two loads from shared memory for each multiply-add. See docs/ladder/cuda_tiled_kahan.md.
#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/ladder/kahan.cuh"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/tiles.hpp"

namespace exactile::cuda {
namespace {

constexpr int tile = 16;
constexpr std::array tiled_kahan_types{GemmTypes{ElementType::f32, ElementType::f32}};

__global__ void __launch_bounds__(tile* tile)
    tiled_kahan_kernel(GemmDescription d, const float* a, const float* b, float* c, Epilogue<float, float> epilogue) {
  __shared__ float tile_a[tile][tile];
  __shared__ float tile_b[tile][tile];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const std::int64_t tiles_across = (d.n + tile - 1) / tile;
  const std::int64_t i = blockIdx.x / tiles_across * tile + y;
  const std::int64_t j = blockIdx.x % tiles_across * tile + x;
  for (std::int64_t product = blockIdx.y; product < d.batch_count; product += gridDim.y) {
    const float* row = product_base(a, d.a, product) + i * d.a.row_stride;
    const float* column = product_base(b, d.b, product) + j * d.b.column_stride;
    KahanSum sum;
    for (std::int64_t p = 0; p < d.k; p += tile) {
      tile_a[y][x] = i < d.m && p + x < d.k ? row[(p + x) * d.a.column_stride] : 0;
      tile_b[y][x] = j < d.n && p + y < d.k ? column[(p + y) * d.b.row_stride] : 0;
      __syncthreads();
#pragma unroll
      for (int q = 0; q < tile; ++q) sum.add_product(tile_a[y][q], tile_b[q][x]);
      __syncthreads();
    }
    if (i < d.m && j < d.n)
      epilogue.store(product_base(c, d.c, product) + i * d.c.row_stride + j * d.c.column_stride, sum.sum, i, j);
  }
}

class TiledKahan final : public DeviceProduct {
 public:
  explicit TiledKahan(const GemmDescription& description) : description_(description) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmDescription& d = description_;
    const GemmArguments& arguments = launch.arguments;
    tiled_kahan_kernel<<<layered_grid(d, tile_count(d, tile, tile)), dim3(tile, tile), 0, launch.stream>>>(
        d, static_cast<const float*>(arguments.a), static_cast<const float*>(arguments.b),
        static_cast<float*>(arguments.c), Epilogue<float, float>(d, arguments));
    return check_launch("cuda_tiled_kahan");
  }
  [[nodiscard]] std::string blocking() const override { return "BM=16 BN=16 BK=16"; }
  [[nodiscard]] double model_bytes() const override { return tiled_bytes(description_, tile, tile); }

 private:
  GemmDescription description_;
};

}  // namespace

const Kernel cuda_tiled_kahan{
    .name = "cuda_tiled_kahan",
    .role = "ladder",
    .summary = "16 x 16 tiles in shared memory, Kahan's summation",
    .types = tiled_kahan_types,
    .refuses = [](const plan::Problem& p, const Device&) -> std::string_view {
      return refuses_blocks(tile_count(p.description, tile, tile));
    },
    .candidates = one_candidate,
    .make = [](const plan::Problem& p, const Device&, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<TiledKahan>(p.description);
    }};

}  // namespace exactile::cuda
