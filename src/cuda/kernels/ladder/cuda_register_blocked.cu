// SPDX-License-Identifier: Apache-2.0
// `cuda_register_blocked`: a block of BlockSize x BlockSize threads computes a tile of C of BlockSize*MA x BlockSize*MB
// elements, MA x MB for each thread, in registers. A thread's elements lie BlockSize apart, so that neighbours always
// read and write neighbours. A is transposed first, for the same reason; that is done in the workspace and counts.
// Data flows from memory to registers to shared memory to registers: the loads of the next step of BlockSize terms are
// under way while this one is computed.
// Traffic model: A transposed (read and written), then A once for each column of tiles, B once for each row of tiles.
// Limit: MA + MB loads from shared memory, one element wide, for MA * MB multiply-adds.
// See docs/ladder/cuda_register_blocked.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/ladder/padded_product.hpp"
#include "cuda/kernels/ladder/write_up_types.cuh"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/tiles.hpp"

namespace exactile::cuda {
namespace {

constexpr std::string_view name = "cuda_register_blocked";

/// A is transposed, and A and B end with whole tiles (copies are filled with zeros).
/// In shared memory odd rows have neighbouring groups of BlockSize elements exchanged (`i ^ (y & 1)`), so that the rows
/// which one warp fills lie in different banks.
template <int BlockSize, int MA, int MB, class In, class Out>
__global__ void __launch_bounds__(BlockSize* BlockSize)
    register_blocked_kernel(GemmDescription d, const In* a, const In* b, Out* c, Epilogue<In, Out> epilogue) {
  using Accumulator = DeviceAccumulator<In>;
  constexpr int rows = BlockSize * MA;
  constexpr int columns = BlockSize * MB;
  static_assert(MA % 2 == 0 && MB % 2 == 0, "groups are exchanged in pairs");
  // Two buffers: one is computed from while the other is filled.
  __shared__ Accumulator tile_a[2][BlockSize][rows];
  __shared__ Accumulator tile_b[2][BlockSize][columns];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const std::int64_t tiles_across = (d.n + columns - 1) / columns;
  const std::int64_t i0 = blockIdx.x / tiles_across * rows;
  const std::int64_t j0 = blockIdx.x % tiles_across * columns;

  for (std::int64_t product = blockIdx.y; product < d.batch_count; product += gridDim.y) {
    const In* from_a = product_base(a, d.a, product) + y * d.a.column_stride + i0 + x;
    const In* from_b = product_base(b, d.b, product) + y * d.b.row_stride + j0 + x;
    In next_a[MA];
    In next_b[MB];
    const auto load = [&] {
#pragma unroll
      for (int i = 0; i < MA; ++i) next_a[i] = from_a[i * BlockSize];
#pragma unroll
      for (int j = 0; j < MB; ++j) next_b[j] = from_b[j * BlockSize];
      from_a += BlockSize * d.a.column_stride;
      from_b += BlockSize * d.b.row_stride;
    };
    const auto store = [&](int buffer) {
#pragma unroll
      for (int i = 0; i < MA; ++i) tile_a[buffer][y][x + (i ^ (y & 1)) * BlockSize] = widen(next_a[i]);
#pragma unroll
      for (int j = 0; j < MB; ++j) tile_b[buffer][y][x + (j ^ (y & 1)) * BlockSize] = widen(next_b[j]);
    };

    Accumulator sum[MA][MB] = {};
    load();
    store(0);
    __syncthreads();
    int buffer = 0;
    for (std::int64_t rest = d.k; rest > 0; rest -= BlockSize) {
      if (rest > BlockSize) load();
#pragma unroll
      for (int q = 0; q < BlockSize; ++q) {
        Accumulator of_a[MA];
        Accumulator of_b[MB];
#pragma unroll
        for (int i = 0; i < MA; ++i) of_a[i] = tile_a[buffer][q][y + (i ^ (q & 1)) * BlockSize];
#pragma unroll
        for (int j = 0; j < MB; ++j) of_b[j] = tile_b[buffer][q][x + (j ^ (q & 1)) * BlockSize];
#pragma unroll
        for (int i = 0; i < MA; ++i)
#pragma unroll
          for (int j = 0; j < MB; ++j) sum[i][j] = multiply_add(of_a[i], of_b[j], sum[i][j]);
      }
      buffer ^= 1;
      if (rest > BlockSize) store(buffer);
      __syncthreads();
    }

    // Registers cannot be indexed; the sums are copied to where they can, so that the epilogue's code is there once.
    Accumulator finished[MA * MB];
#pragma unroll
    for (int e = 0; e < MA * MB; ++e) finished[e] = sum[e / MB][e % MB];
    Out* const to = product_base(c, d.c, product);
#pragma unroll 1
    for (int e = 0; e < MA * MB; ++e) {
      const std::int64_t i = i0 + y + e / MB * BlockSize;
      const std::int64_t j = j0 + x + e % MB * BlockSize;
      if (i < d.m && j < d.n) epilogue.store(to + i * d.c.row_stride + j * d.c.column_stride, finished[e], i, j);
    }
  }
}

/// BlockSize, MA and MB by the type that sums: what the registers hold.
template <class Accumulator>
struct Shape {
  static constexpr int block_size = sizeof(Accumulator) == 8 ? 8 : 16;
  static constexpr int ma = 8;
  static constexpr int mb = 8;
  static constexpr int rows = block_size * ma;
  static constexpr int columns = block_size * mb;
};

template <class In, class Out>
class RegisterBlocked final : public PaddedProduct {
  using Block = Shape<DeviceAccumulator<In>>;

 public:
  explicit RegisterBlocked(const GemmDescription& d)
      : PaddedProduct(d, {.rows = Block::rows, .columns = Block::columns, .depth = Block::block_size}, false, name) {}

  [[nodiscard]] std::string blocking() const override {
    return tile_text() + " MA=" + std::to_string(Block::ma) + " MB=" + std::to_string(Block::mb);
  }

 protected:
  void launch_tiles(const GemmDescription& d, const GemmArguments& arguments, cudaStream_t stream) const override {
    constexpr int block_size = Block::block_size;
    register_blocked_kernel<block_size, Block::ma, Block::mb>
        <<<layered_grid(d, tile_count(d, Block::rows, Block::columns)), dim3(block_size, block_size), 0, stream>>>(
            d, static_cast<const In*>(arguments.a), static_cast<const In*>(arguments.b), static_cast<Out*>(arguments.c),
            Epilogue<In, Out>(d, arguments));
  }
};

}  // namespace

const Kernel cuda_register_blocked{
    .name = name,
    .role = "ladder",
    .summary = "many elements of C for each thread, A transposed first",
    .types = write_up_types,
    .refuses = [](const plan::Problem& p, const Device&) -> std::string_view {
      return refuses_blocks(tile_count(p.description, 64, 64));
    },
    .candidates = one_candidate,
    .make =
        [](const plan::Problem& p, const Device&, const Configuration&) {
          return with_write_up_types(p.description.types, [&]<class In, class Out>() -> std::unique_ptr<DeviceProduct> {
            return std::make_unique<RegisterBlocked<In, Out>>(p.description);
          });
        }};

}  // namespace exactile::cuda
