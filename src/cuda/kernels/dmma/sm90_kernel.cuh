// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel of `sm90_f64_mma`. A producer warpgroup copies, 4 or 8 consumer warps multiply; a pipeline of stages in
/// shared memory, with two barriers each, lies between them. Blocks are persistent, so that the copies of the next tile
/// run under the stores of this one.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/dmma/cluster.cuh"
#include "cuda/kernels/dmma/product.hpp"
#include "cuda/kernels/dmma/sm90_expand.cuh"
#include "cuda/kernels/dmma/store.cuh"
#include "cuda/kernels/sm90/tensor_map.hpp"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::dmma {

/// A stage is `Depth` blocks of 16 of K: enough that its barriers do not count.
template <int Bm, int Bn, int Wm, int Wn, int StepK, int Depth, int Stages, int CtasPerSm, FormOfA A = FormOfA::by_rows,
          Instruction I = Instruction::m16n8k8>
struct Tile {
  static constexpr int bm = Bm;
  static constexpr int bn = Bn;
  static constexpr int depth = Depth;
  static constexpr int stages = Stages;
  static constexpr int blocks = CtasPerSm;
  static constexpr int producer_threads = 128;
  static constexpr int consumer_warps = (Bm / Wm) * (Bn / Wn);
  static constexpr int threads = producer_threads + 32 * consumer_warps;
  using Warp = WarpTile<Wm, Wn, I, StepK, A>;
  static constexpr bool expands_a = A == FormOfA::expanded;
  static constexpr int band = (expands_a ? 2048 : 1024) / Bm;  ///< rows of complex numbers take half as many bytes
  static constexpr int a_lines = Warp::a_lines;
  static constexpr int a_bytes = Bm / 16 * a_lines * line_bytes;
  static constexpr int b_bytes = Bn * line_bytes;
  static constexpr int block_bytes = a_bytes + b_bytes;
  static constexpr int stage_bytes = Depth * block_bytes;
  static constexpr int stage_k = Depth * block_k;
  static constexpr int shared_bytes = Stages * stage_bytes + 1024;
  // What the launch allocates, divided anew.
  static constexpr int launch_registers = threads == 384 ? 168 : 65536 / (threads * CtasPerSm) / 8 * 8;
  static constexpr int producer_registers = Bm * Bn == 128 * 128 || Wn == 8 ? 56 : 72;
  static constexpr int consumer_registers =
      (threads * launch_registers - producer_threads * producer_registers) / (32 * consumer_warps);
  static constexpr int steps = Depth * Warp::steps_per_block;
  /// K is shared by the CTAs of a cluster where tiles are few: where they are small.
  static constexpr int most_cluster_k = Bm * Bn <= 64 * 64 ? most_ranks : 1;
  static_assert(consumer_warps % 4 == 0 && (steps % 2 == 0 || Warp::loads_in_place) && chunk_k % stage_k == 0 &&
                slice_step % stage_k == 0);
};

/// Fragments are loaded ahead of their use, across stages too, so that one warp alone keeps its tensor core busy.
template <class T>
class ChunkOfStages {
 public:
  using Warp = typename T::Warp;

  __device__ ChunkOfStages(Warp& tile, const char* stages, std::uint64_t* full, std::uint64_t* empty, bool arrives,
                           PipelineState& state)
      : tile_(tile), stages_(stages), full_(full), empty_(empty), arrives_(arrives), state_(state) {}

  __device__ void multiply(int k_count) {
    isa::mbarrier_wait(full_ + state_.stage, state_.parity);
    tile_.prepare(step(0));
    constexpr auto steps = std::make_integer_sequence<int, T::steps>();
    for (; k_count > T::stage_k; k_count -= T::stage_k) multiply_stage<true>(steps);
    multiply_stage<false>(steps);
  }

 private:
  [[nodiscard]] __device__ typename Warp::Step step(int s) const {
    const char* a = stages_ + state_.stage * T::stage_bytes + s / Warp::steps_per_block * T::block_bytes;
    return {a, a + T::a_bytes, s % Warp::steps_per_block};
  }
  template <bool More, int... S>
  __device__ void multiply_stage(std::integer_sequence<int, S...>) {
    (multiply_step<S, More>(), ...);
  }
  template <int S, bool More>
  __device__ void multiply_step() {
    constexpr bool last = S + 1 == T::steps;
    tile_.template multiply<S % 2, !last || More>(
        step(S),
        [&] {
          if (S == (T::steps > 1 ? 1 : 0)) release_stage();
        },
        [&] { return last ? first_of_next<More>() : step(S + 1); });
  }
  /// The stage before this one: what was loaded of it has been multiplied, since the registers have been loaded anew. A
  /// stage whose loads have only been issued is not released: they may wait behind copies of elements, and TMA, which
  /// waits behind nothing, would write over what they are to read.
  __device__ void release_stage() const {
    if (state_.before == PipelineState::none) return;
    __syncwarp();
    if (arrives_) isa::mbarrier_arrive(empty_ + state_.before);
  }
  template <bool More>
  [[nodiscard]] __device__ typename Warp::Step first_of_next() {
    state_.next<T::stages>();
    if (More) isa::mbarrier_wait(full_ + state_.stage, state_.parity);
    return step(0);
  }

  Warp& tile_;
  const char* stages_;
  std::uint64_t* full_;
  std::uint64_t* empty_;
  bool arrives_;
  PipelineState& state_;
};

template <class T>
__device__ void multiply_tiles(const Parameters& w, char* stages, std::uint64_t* full, std::uint64_t* empty,
                               int arrivals) {
  const int lane = threadIdx.x % 32;
  const int warp = (threadIdx.x - T::producer_threads) / 32;
  constexpr int warps_down = T::bm / T::Warp::rows;
  typename T::Warp tile(lane, warp % warps_down * T::Warp::rows, warp / warps_down * T::Warp::columns);
  if constexpr (T::Warp::has_complex_a) tile.conjugate(w.a.layout.conjugate, w.b.layout.conjugate);
  PipelineState state;
  for (std::uint32_t index = blockIdx.x; index < w.work_tiles; index += gridDim.x) {
    const WorkTile work_tile = work_tile_at<T::bm, T::bn, T::band>(w, index);
    for (std::uint32_t chunk = work_tile.first_chunk; chunk < work_tile.end_chunk; ++chunk) {
      tile.clear();
      ChunkOfStages<T>(tile, stages, full, empty, lane < arrivals, state)
          .multiply(static_cast<int>(k_at(w, chunk + 1) - k_at(w, chunk)));
      if (!w.in_clusters) store_chunk(tile, w, work_tile, chunk);
    }
    if constexpr (T::most_cluster_k > 1)
      if (w.in_clusters) finish_in_cluster<T>(tile, w, work_tile, reinterpret_cast<double*>(stages));
  }
}

template <class T>
__global__ void __launch_bounds__(T::threads, T::blocks)
    kernel(const __grid_constant__ Parameters w, const __grid_constant__ Boxes boxes) {
  extern __shared__ char shared[];
  __shared__ std::uint64_t full[T::stages];
  __shared__ std::uint64_t empty[T::stages];
  char* stages = shared + (-isa::shared_address(shared) & 1023);
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::stages; ++s) {
      isa::mbarrier_init(full + s, (boxes.any() ? 1 : 0) + (boxes.all() ? 0 : T::producer_threads) +
                                       (T::expands_a && !boxes.has_b ? T::producer_threads : 0));
      isa::mbarrier_init(empty + s, T::consumer_warps * boxes.arrivals_of_warp());
    }
    isa::mbarrier_init_fence();
  }
  __syncthreads();
  start_kernel_after();
  wait_for_kernel_before();
  if (threadIdx.x < T::producer_threads) {
    isa::registers_give<T::producer_registers>();
    if constexpr (T::expands_a) {
      expand_operands<T>(w, boxes, stages, full, empty);
    } else {
      copy_operands<T>(w, boxes, stages, full, empty);
    }
  } else {
    isa::registers_take<T::consumer_registers>();
    multiply_tiles<T>(w, stages, full, empty, boxes.arrivals_of_warp());
  }
}

/// What TMA can move; a map that the driver refuses is done without.
template <class T>
Boxes boxes_of(const Parameters& w) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  Boxes boxes{};
  if (std::max({w.m, w.n, w.k}) >= most) return boxes;
  const std::int64_t products = w.work_tiles / (static_cast<std::int64_t>(w.tiles_m) * w.tiles_n * w.split_k);
  boxes.a_is_batched = products > 1 && w.a.layout.batch_stride != 0;
  boxes.b_is_batched = products > 1 && w.b.layout.batch_stride != 0;
  const auto map = [&](CUtensorMap& to, const Source& source, bool has_pairs, std::int64_t contiguous,
                       std::int64_t other, std::int64_t stride, bool batched, int box_rows) {
    if (!has_pairs || (stride <= 0 && other > 1)) return false;
    return sm90::make_tensor_map(to, {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
                                      .data = const_cast<double*>(source.data),
                                      .columns = contiguous,
                                      .rows = other,
                                      .batches = batched ? products : 1,
                                      .row_bytes = other > 1 ? 8 * stride : 16,
                                      .batch_bytes = batched ? 8 * source.layout.batch_stride : 16,
                                      .box_columns = 16,
                                      .box_rows = box_rows})
        .ok();
  };
  if constexpr (!T::expands_a)
    boxes.has_a = T::Warp::has_a_along_k
                      ? map(boxes.a, w.a, w.a.pairs_along_k, w.k, w.m, w.a.mn, boxes.a_is_batched, T::bm)
                      : map(boxes.a, w.a, w.a.path == Source::Path::pairs, w.m, w.k * T::a_lines / block_k,
                            w.a.k_stride, boxes.a_is_batched, T::a_lines);
  boxes.has_b = map(boxes.b, w.b, w.b.pairs_along_k, w.k, w.n, w.b.mn, boxes.b_is_batched, T::bn);
  return boxes;
}

template <class T>
Status launch_tile(const Parameters& parameters, const Device& device, std::string_view name, cudaStream_t stream) {
  if (Status s = allow_shared_memory(kernel<T>, T::shared_bytes, name); !s.ok()) return s;
  const Boxes boxes = boxes_of<T>(parameters);
  if (T::Warp::has_complex_a ? !boxes.has_a : T::expands_a && parameters.a.path != Source::Path::pairs)
    return {StatusCode::invalid_argument, "an operand of complex numbers does not lie at a multiple of 16 bytes"};
  if (T::Warp::has_a_along_k && !boxes.has_a) return {StatusCode::unsupported, "A is out of TMA's reach"};
  const int cluster = parameters.in_clusters ? static_cast<int>(parameters.split_k) : 1;
  const auto ctas = parameters.in_clusters
                        ? parameters.work_tiles
                        : std::min<std::uint32_t>(parameters.work_tiles, device.sm_count * T::blocks);
  return check(launch_clusters(true, cluster, kernel<T>, ctas, T::threads, T::shared_bytes, stream, parameters, boxes),
               "launch", name);
}

template <class T>
constexpr TileKind kind(TileKind::Launch* launch_along_k = nullptr) {
  return {T::bm, T::bn, T::stages, T::blocks, T::most_cluster_k, launch_tile<T>, launch_along_k};
}

/// Small tiles of real products, which have kernels for A along K too. In large ones these took 5 to 15 % longer than
/// copies by elements.
template <FormOfA A>
using SmallTiles = std::tuple<Tile<64, 64, 32, 16, 8, 1, 8, 1, A>, Tile<32, 64, 16, 16, 16, 2, 4, 1, A>,
                              Tile<64, 16, 16, 16, 16, 2, 5, 2, A>, Tile<16, 64, 16, 16, 16, 2, 5, 2, A>,
                              Tile<16, 32, 16, 8, 16, 2, 5, 3, A>, Tile<32, 16, 16, 8, 16, 2, 5, 3, A>>;
inline constexpr std::size_t small_tiles = std::tuple_size_v<SmallTiles<FormOfA::by_rows>>;

/// Of SmallTiles<along_k>, by number: in a file of their own, so that they are compiled side by side.
Status launch_along_k(std::size_t tile, const Parameters& parameters, const Device& device, std::string_view name,
                      cudaStream_t stream);

}  // namespace exactile::cuda::dmma
