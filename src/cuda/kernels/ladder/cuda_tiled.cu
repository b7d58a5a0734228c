// SPDX-License-Identifier: Apache-2.0
// `cuda_tiled`: square tiles of A and B in shared memory, one thread for each element of C's tile, for int, half, float
// and double. Operands are addressed in bytes, as pitched memory is. The tile of B is stored transposed: a thread then
// reads its row of A's tile and its column of B's along 16 contiguous bytes at a time.
// BM = 16 measured best and comes first; 8 and 32 show why.
// Traffic model: A once for each column of tiles, B once for each row of tiles: 2mnk / tile for large
// products. Limit: shared memory; each multiply-add needs two numbers from there. See docs/ladder/cuda_tiled.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/ladder/write_up_types.cuh"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/tiles.hpp"

namespace exactile::cuda {
namespace {

/// Where an operand's elements lie, in bytes.
struct ByteStrides {
  std::int64_t row;
  std::int64_t column;

  ByteStrides(const OperandLayout& layout, ElementType type)
      : row(layout.row_stride * size_in_bytes(type)), column(layout.column_stride * size_in_bytes(type)) {}
};

template <class T>
[[nodiscard]] __device__ inline T* byte_offset(T* base, std::int64_t bytes) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(base) + bytes);
}

template <class In, class Out, int Tile>
__global__ void __launch_bounds__(Tile* Tile)
    tiled_kernel(GemmDescription d, ByteStrides a_strides, ByteStrides b_strides, const In* a, const In* b, Out* c,
                 Epilogue<In, Out> epilogue) {
  // 16 bytes more than a row needs: rows begin where vectors may, and those of neighbouring threads in other banks.
  constexpr int row_length = Tile + 16 / static_cast<int>(sizeof(In));
  __shared__ alignas(16) In tile_a[Tile][row_length];
  __shared__ alignas(16) In tile_b[Tile][row_length];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const std::int64_t tiles_across = (d.n + Tile - 1) / Tile;
  const std::int64_t i = blockIdx.x / tiles_across * Tile + y;
  const std::int64_t j = blockIdx.x % tiles_across * Tile + x;
  for (std::int64_t product = blockIdx.y; product < d.batch_count; product += gridDim.y) {
    const In* from_a = byte_offset(product_base(a, d.a, product), i * a_strides.row + x * a_strides.column);
    const In* from_b = byte_offset(product_base(b, d.b, product), j * b_strides.column + y * b_strides.row);
    DeviceAccumulator<In> sum{};
    for (std::int64_t p = 0; p < d.k; p += Tile) {
      tile_a[y][x] = i < d.m && p + x < d.k ? *from_a : In{};
      tile_b[x][y] = j < d.n && p + y < d.k ? *from_b : In{};
      from_a = byte_offset(from_a, Tile * a_strides.column);
      from_b = byte_offset(from_b, Tile * b_strides.row);
      __syncthreads();
#pragma unroll
      for (int q = 0; q < Tile; ++q) sum = multiply_add(widen(tile_a[y][q]), widen(tile_b[x][q]), sum);
      __syncthreads();
    }
    if (i < d.m && j < d.n)
      epilogue.store(product_base(c, d.c, product) + i * d.c.row_stride + j * d.c.column_stride, sum, i, j);
  }
}

template <int Tile>
class Tiled final : public DeviceProduct {
 public:
  explicit Tiled(const GemmDescription& description) : description_(description) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    return with_write_up_types(description_.types, [&]<class In, class Out>() {
      const GemmDescription& d = description_;
      const GemmArguments& arguments = launch.arguments;
      tiled_kernel<In, Out, Tile><<<layered_grid(d, tile_count(d, Tile, Tile)), dim3(Tile, Tile), 0, launch.stream>>>(
          d, ByteStrides(d.a, d.types.input), ByteStrides(d.b, d.types.input), static_cast<const In*>(arguments.a),
          static_cast<const In*>(arguments.b), static_cast<Out*>(arguments.c), Epilogue<In, Out>(d, arguments));
      return check_launch("cuda_tiled");
    });
  }
  [[nodiscard]] std::string blocking() const override {
    const std::string tile = std::to_string(Tile);
    return "BM=" + tile + " BN=" + tile + " BK=" + tile;
  }
  [[nodiscard]] double model_bytes() const override { return tiled_bytes(description_, Tile, Tile); }

 private:
  GemmDescription description_;
};

constexpr int sides[] = {16, 8, 32};

std::vector<Candidate> candidates(const plan::Problem& p, const Device& device) {
  std::vector<Candidate> all;
  for (const int side : sides) all.push_back({{.bm = side, .bn = side}, even_demand(p.description, device)});
  return all;
}

std::unique_ptr<DeviceProduct> make(const plan::Problem& p, const Device&, const Configuration& c) {
  switch (c.bm) {
    case 8: return std::make_unique<Tiled<8>>(p.description);
    case 32: return std::make_unique<Tiled<32>>(p.description);
    default: return std::make_unique<Tiled<16>>(p.description);
  }
}

}  // namespace

const Kernel cuda_tiled{.name = "cuda_tiled",
                        .role = "ladder",
                        .summary = "square tiles in shared memory, B's tile transposed",
                        .types = write_up_types,
                        .refuses = [](const plan::Problem& p, const Device&) -> std::string_view {
                          return refuses_blocks(tile_count(p.description, sides[1], sides[1]));
                        },
                        .candidates = candidates,
                        .make = make,
                        .has_instances = true};

}  // namespace exactile::cuda
