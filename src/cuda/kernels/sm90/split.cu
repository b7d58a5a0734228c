// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/split.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "cuda/isa/copy_async.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90 {
namespace {

constexpr int tile = 64;  // of rows and of k
constexpr int threads = 256;
constexpr int max_tiles = 8;  // along k, by one CTA of the first pass
constexpr int per_thread = tile * tile / threads;

/// Which tile of which operand a CTA has.
struct Place {
  const SplitOperand& operand;
  int batch;
  int row;
  int k;
};

/// CTAs of one operand: those along k first, then rows, then batches.
[[nodiscard]] __host__ __device__ std::int64_t count(const SplitOperand& operand, int k_tile) {
  return (operand.k + k_tile - 1) / k_tile * ((operand.rows + tile - 1) / tile) * std::int64_t{operand.batches};
}

[[nodiscard]] __device__ Place place(const SplitPair& pair, int k_tile, std::int64_t index) {
  const std::int64_t in_a = count(pair.a, k_tile);
  const SplitOperand& operand = index < in_a ? pair.a : pair.b;
  if (index >= in_a) index -= in_a;
  const int k_tiles = (operand.k + k_tile - 1) / k_tile;
  const int row_tiles = (operand.rows + tile - 1) / tile;
  const std::int64_t row_index = index / k_tiles;
  return {operand, static_cast<int>(row_index / row_tiles), static_cast<int>(row_index % row_tiles) * tile,
          static_cast<int>(index % k_tiles) * k_tile};
}

/// Element i of a thread's share of a tile; neighbouring threads have neighbours in memory.
struct Share {
  bool along_k;
  __device__ explicit Share(const OperandLayout& layout)
      : along_k(llabs(layout.column_stride) <= llabs(layout.row_stride)) {}
  [[nodiscard]] __device__ int row(int i) const {
    return along_k ? threadIdx.x / tile + i * (threads / tile) : threadIdx.x % tile;
  }
  [[nodiscard]] __device__ int k(int i) const {
    return along_k ? threadIdx.x % tile : threadIdx.x / tile + i * (threads / tile);
  }
};

__device__ void load(float (&x)[per_thread], const Share& share, const Place& at, int k0) {
  const float* base = product_base(at.operand.data, at.operand.layout, at.batch);
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    const int row = at.row + share.row(i);
    const int k = k0 + share.k(i);
    x[i] = row < at.operand.rows && k < at.operand.k
               ? base[row * at.operand.layout.row_stride + k * at.operand.layout.column_stride]
               : 0.0f;
  }
}

/// |x| as an integer that orders as |x| does.
[[nodiscard]] __device__ unsigned absolute_bits(float x) { return __float_as_uint(x) & 0x7fffffffu; }

constexpr unsigned infinite_bits = 0x7f800000u;

/// The same; 0 for Inf and NaN.
[[nodiscard]] __device__ unsigned finite_bits(float x) {
  const unsigned bits = absolute_bits(x);
  return bits < infinite_bits ? bits : 0u;
}

/// First pass.
__global__ void __launch_bounds__(threads) find_maxima(const __grid_constant__ SplitPair pair) {
  const Place at = place(pair, max_tiles * tile, blockIdx.x);
  const Share share(at.operand.layout);
  unsigned most[per_thread] = {};
  for (int t = 0; t < max_tiles && at.k + t * tile < at.operand.k; ++t) {
    float x[per_thread];
    load(x, share, at, at.k + t * tile);
#pragma unroll
    for (int i = 0; i < per_thread; ++i) most[i] = max(most[i], finite_bits(x[i]));
  }
  unsigned* max_bits =
      at.operand.facts.max_bits + static_cast<std::int64_t>(at.batch) * at.operand.facts_pitch + at.row;
  if (share.along_k) {
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const unsigned of_warp = __reduce_max_sync(~0u, most[i]);
      if (threadIdx.x % 32 == 0) atomicMax(max_bits + share.row(i), of_warp);
    }
  } else {
#pragma unroll
    for (int i = 1; i < per_thread; ++i) most[0] = max(most[0], most[i]);
    atomicMax(max_bits + share.row(0), most[0]);
  }
}

constexpr int group = 8;  // elements of K that a thread writes at a time: 16 bytes of each slice

/// Writes the slices of `group` elements from k on; how much tiny is in them.
template <class Slices>
[[nodiscard]] __device__ unsigned write_group(const SplitOperand& operand, std::int64_t row_in_all, int k,
                                              const float (&x)[group], float scale) {
  union {
    typename Slices::Element element[group];
    typename Slices::Pair pair[group / 2];
    uint4 bits;
  } part[Slices::slices];
  unsigned tiny = 0;
  unsigned most = 0;
  unsigned least_but_one = ~0u;  // of what is not zero
#pragma unroll
  for (int i = 0; i < group; ++i) {
    most = max(most, absolute_bits(x[i]));
    least_but_one = min(least_but_one, absolute_bits(x[i]) - 1);
  }
  // All zeros, or all that is not zero is finite and not small.
  if (most == 0 || (most < infinite_bits && __uint_as_float(least_but_one + 1) * scale >= Slices::least_ordinary)) {
#pragma unroll
    for (int i = 0; i < group / 2; ++i) {
      typename Slices::Pair s[Slices::slices];
      Slices::split_ordinary(x[2 * i] * scale, x[2 * i + 1] * scale, s);
#pragma unroll
      for (int slice = 0; slice < Slices::slices; ++slice) part[slice].pair[i] = s[slice];
    }
  } else {
#pragma unroll
    for (int i = 0; i < group; ++i) {
      typename Slices::Element s[Slices::slices];
      tiny += Slices::split(x[i], x[i] * scale, operand.k, s);
#pragma unroll
      for (int slice = 0; slice < Slices::slices; ++slice) part[slice].element[i] = s[slice];
    }
  }
  const int blocks = blocks_of<Slices>(operand.depth());
  auto* to = static_cast<uint4*>(operand.slices) + (row_in_all * blocks + k / block_k) * (block_bytes<Slices> / 16);
#pragma unroll
  for (int slice = 0; slice < Slices::slices; ++slice)
    to[slice * (block_k / group) + k % block_k / group] = part[slice].bits;
  return tiny;
}

/// One tile, by way of `transposed`.
template <class Slices>
__device__ void write_tile(const Place& at, float (&transposed)[tile][tile + 1]) {
  const Share share(at.operand.layout);
  float x[per_thread];
  load(x, share, at, at.k);
#pragma unroll
  for (int i = 0; i < per_thread; ++i) transposed[share.k(i)][share.row(i)] = x[i];
  __syncthreads();

  const int padded_k = blocks_of<Slices>(at.operand.k) * block_k;
#pragma unroll
  for (int item = threadIdx.x; item < tile * tile / group; item += threads) {
    // Four threads write the 32 elements of a block, eight such fours a warp.
    const int k = item % 4 * group + item / 256 * block_k;
    const int row = item / 4 % 64;
    if (at.row + row >= at.operand.rows || at.k + k >= padded_k) continue;
    const std::int64_t line = static_cast<std::int64_t>(at.batch) * at.operand.facts_pitch + at.row + row;
    float part[group];
#pragma unroll
    for (int i = 0; i < group; ++i) part[i] = transposed[k + i][row];
    const unsigned tiny =
        write_group<Slices>(at.operand, static_cast<std::int64_t>(at.batch) * at.operand.rows + at.row + row, at.k + k,
                            part, power_of_two(scale_exponent<Slices>(at.operand.facts.max_bits[line])));
    if (tiny != 0) atomicAdd(at.operand.facts.tiny + line, tiny);
  }
}

/// Second pass.
template <class Slices>
__global__ void __launch_bounds__(threads)
    write_slices(const __grid_constant__ SplitPair pair, const unsigned* left, const LotsLeft lots) {
  isa::wait_for_kernel_before();
  if (left != nullptr && *left <= most_few) return;
  __shared__ float transposed[tile][tile + 1];
  const std::int64_t tiles = count(pair.a, tile) + count(pair.b, tile);
  for (std::int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Place at = place(pair, tile, index);
    const unsigned* of_operand = &at.operand == &pair.a ? lots.a : lots.b;
    if (left != nullptr && of_operand[lot_of(at.operand, at.batch, at.row)] == 0) continue;
    write_tile<Slices>(at, transposed);
    __syncthreads();
  }
}

// Both passes in one, for rows that fit in the shared memory of a CTA or, across K, of a cluster: every element is read
// once. Where K is contiguous a CTA has whole rows; where it is not, the CTAs of a cluster share some rows along K.

constexpr int whole_shared_bytes[] = {48 * 1024, 68 * 1024};  // four or three CTAs share a multiprocessor
constexpr int whole_most_rows = 64;

/// How one operand is taken.
struct WholeShape {
  bool along_k;
  bool by_vectors;  ///< along_k: 16 bytes at a time
  int rows;         ///< of a CTA, or of a cluster
  int k_share;      ///< of a CTA
  int pitch;        ///< along_k: from row to row, otherwise from k to k; in floats
  int units;        ///< CTAs or clusters for one product

  [[nodiscard]] __host__ __device__ std::int64_t ctas(int batches, int cluster_size) const {
    const std::int64_t all = std::int64_t{units} * batches;
    return along_k ? (all + cluster_size - 1) / cluster_size * cluster_size : all * cluster_size;
  }
};

struct WholePair {
  SplitPair operands;
  WholeShape a;
  WholeShape b;
  int cluster_size;
  bool next_begins_early;
  unsigned* zero;  ///< zeroed on the way
  std::int64_t zero_words;
};

/// The shape with that much shared memory, or rows = 0 if the operand is too deep.
[[nodiscard]] WholeShape whole_shape(const SplitOperand& operand, int cluster_size, int shared_bytes) {
  const bool along_k = std::abs(operand.layout.column_stride) <= std::abs(operand.layout.row_stride);
  const int depth = operand.depth();
  const int padded_k = (depth + tile - 1) / tile * tile;
  // Vectors must lie wholly inside: their number of elements divides what is there.
  const auto& [row_stride, k_stride, batch_stride, is_pointer_array] = operand.layout;
  const bool by_vectors = k_stride == 1 && row_stride % 4 == 0 && operand.k % 4 == 0 && depth % 4 == 0 &&
                          batch_stride % 4 == 0 && !is_pointer_array &&
                          reinterpret_cast<std::uintptr_t>(operand.data) % 16 == 0;
  if (along_k) {
    const int pitch = padded_k + 4;
    const int fit = std::min(shared_bytes / 4 / pitch, whole_most_rows);
    const int rows = fit == 0 ? 0 : static_cast<int>(std::bit_floor(static_cast<unsigned>(fit)));
    return {true, by_vectors, rows, padded_k, pitch, rows == 0 ? 0 : operand.facts_pitch / rows};
  }
  const int k_share = (padded_k / tile + cluster_size - 1) / cluster_size * tile;
  for (const int rows : {32, 16, 8})
    if (k_share * (rows + 1) * 4 <= shared_bytes)
      return {false, false, rows, k_share, rows + 1, operand.facts_pitch / rows};
  return {};
}

/// `width` neighbouring floats on their way to shared memory, zeros where they are not there.
template <int width>
__device__ void copy_floats(float* to, const float* from, bool are_there) {
  isa::copy_async<4 * width>(to, from, are_there ? 4 * width : 0);
}

/// This thread's copies are there, for this thread.
__device__ void wait_for_copies() {
  isa::copy_async_commit();
  isa::copy_async_wait<0>();
}

/// Rows whose K is contiguous, a warp or several to a row. buffer[row][k].
template <int width>
__device__ void load_lines_along_k(float* buffer, unsigned* most, const float* from, const OperandLayout& layout,
                                   const WholeShape& shape, int rows, int ks) {
  const int warp = threadIdx.x / 32;
  const int warps_per_row = max(1, threads / 32 / shape.rows);
  const int first = (warp % warps_per_row * 32 + threadIdx.x % 32) * width;
  const int step = 32 * width * warps_per_row;
  const int first_row = warp / warps_per_row;
  const int row_step = threads / 32 / warps_per_row;
  for (int row = first_row; row < shape.rows; row += row_step) {
    const float* at = from + row * layout.row_stride + first * layout.column_stride;
    for (int k = first; k < shape.k_share; k += step, at += step * layout.column_stride)
      copy_floats<width>(buffer + row * shape.pitch + k, at, row < rows && k < ks);
  }
  wait_for_copies();
  for (int row = first_row; row < shape.rows; row += row_step) {
    unsigned bits = 0;
    for (int k = first; k < shape.k_share; k += step)
#pragma unroll
      for (int e = 0; e < width; ++e) bits = max(bits, finite_bits(buffer[row * shape.pitch + k + e]));
    bits = __reduce_max_sync(~0u, bits);
    if (threadIdx.x % 32 == 0) atomicMax(&most[row], bits);
  }
}

/// Rows that are contiguous among themselves. buffer[k][row]; the maxima go to all CTAs of the cluster.
__device__ void load_lines_across_k(float* buffer, unsigned* most, const float* from, const OperandLayout& layout,
                                    const WholeShape& shape, int rows, int ks, int cluster_size) {
  const int row = static_cast<int>(threadIdx.x) % shape.rows;
  const int first = static_cast<int>(threadIdx.x) / shape.rows;
  const int step = threads / shape.rows;
  const float* at = from + row * layout.row_stride + first * layout.column_stride;
  for (int k = first; k < shape.k_share; k += step, at += step * layout.column_stride)
    copy_floats<1>(buffer + k * shape.pitch + row, at, row < rows && k < ks);
  wait_for_copies();
  unsigned bits = 0;
#pragma unroll 8
  for (int k = first; k < shape.k_share; k += step) bits = max(bits, finite_bits(buffer[k * shape.pitch + row]));
  // Threads of a warp that have the same row.
  for (int other = shape.rows; other < 32; other *= 2) bits = max(bits, __shfl_xor_sync(~0u, bits, other));
  if (static_cast<int>(threadIdx.x) % 32 < shape.rows)
    for (int cta = 0; cta < cluster_size; ++cta) atomicMax(isa::of_cta(&most[row], cta), bits);
}

template <class Slices>
__global__ void __launch_bounds__(threads, 3) split_whole(const __grid_constant__ WholePair pair) {
  extern __shared__ float buffer[];
  __shared__ unsigned most[whole_most_rows];
  __shared__ unsigned tiny[whole_most_rows];
  if (pair.next_begins_early) isa::start_kernel_after();
  for (std::int64_t i = blockIdx.x * std::int64_t{threads} + threadIdx.x; i < pair.zero_words;
       i += std::int64_t{gridDim.x} * threads)
    pair.zero[i] = 0;

  const std::int64_t in_a = pair.a.ctas(pair.operands.a.batches * pair.operands.a.parts, pair.cluster_size);
  const bool is_a = blockIdx.x < in_a;
  const SplitOperand& operand = is_a ? pair.operands.a : pair.operands.b;
  const WholeShape& shape = is_a ? pair.a : pair.b;
  const int rank = shape.along_k ? 0 : static_cast<int>(isa::cluster_rank());
  const std::int64_t cta = blockIdx.x - (is_a ? 0 : in_a);
  const std::int64_t unit = shape.along_k ? cta : cta / pair.cluster_size;
  const int batch = static_cast<int>(unit / shape.units);
  const int row0 = static_cast<int>(unit % shape.units) * shape.rows;
  const int k0 = rank * shape.k_share;
  const bool is_there = batch < operand.batches * operand.parts;
  const int part = operand.parts == 1 ? 0 : batch / operand.batches;
  const int rows = is_there ? min(shape.rows, operand.rows - row0) : 0;                             // may be negative
  const int ks = min(shape.k_share, min(operand.k - part * operand.part_k, operand.depth()) - k0);  // so may this
  const float* from = product_base(operand.data, operand.layout, is_there ? batch - part * operand.batches : 0) +
                      row0 * operand.layout.row_stride +
                      (std::int64_t{part} * operand.part_k + k0) * operand.layout.column_stride;

  if (threadIdx.x < whole_most_rows) most[threadIdx.x] = tiny[threadIdx.x] = 0;
  if (!shape.along_k) isa::cluster_sync();
  __syncthreads();

  // Into shared memory, with the maxima.
  if (shape.along_k) {
    if (shape.by_vectors) {
      load_lines_along_k<4>(buffer, most, from, operand.layout, shape, rows, ks);
    } else {
      load_lines_along_k<1>(buffer, most, from, operand.layout, shape, rows, ks);
    }
  } else {
    load_lines_across_k(buffer, most, from, operand.layout, shape, rows, ks, pair.cluster_size);
    isa::cluster_sync();
  }
  __syncthreads();

  // Out of it.
  const int groups = shape.k_share / group;
  const int padded_k = blocks_of<Slices>(operand.depth()) * block_k;
  for (int item = threadIdx.x; item < shape.rows * groups; item += threads) {
    // Rows by turns of eight: four threads write the 32 elements of a block, eight such fours a warp.
    const int row = shape.along_k ? item / groups : item / 4 % 8 + item / (8 * groups) * 8;
    const int k = shape.along_k ? item % groups * group : (item % 4 + item % (8 * groups) / 32 * 4) * group;
    if (row >= rows || k0 + k >= padded_k) continue;
    alignas(16) float x[group];
    if (shape.along_k) {
      const auto* v = reinterpret_cast<const float4*>(buffer + row * shape.pitch + k);
      *reinterpret_cast<float4*>(x) = v[0];
      *reinterpret_cast<float4*>(x + 4) = v[1];
    } else {
#pragma unroll
      for (int i = 0; i < group; ++i) x[i] = buffer[(k + i) * shape.pitch + row];
    }
    const unsigned found = write_group<Slices>(operand, static_cast<std::int64_t>(batch) * operand.rows + row0 + row,
                                               k0 + k, x, power_of_two(scale_exponent<Slices>(most[row])));
    if (found != 0) atomicAdd(shape.along_k ? &tiny[row] : isa::of_cta(&tiny[row], 0), found);
  }
  if (!shape.along_k) isa::cluster_sync();
  __syncthreads();
  if (is_there && rank == 0 && static_cast<int>(threadIdx.x) < shape.rows) {
    const std::int64_t line = static_cast<std::int64_t>(batch) * operand.facts_pitch + row0 + threadIdx.x;
    operand.facts.max_bits[line] = most[threadIdx.x];
    operand.facts.tiny[line] = tiny[threadIdx.x];
  }
}

}  // namespace

template <class Slices>
Status enqueue_slices(const SplitPair& operands, const unsigned* left, const LotsLeft& lots, cudaStream_t stream) {
  const std::int64_t tiles = count(operands.a, tile) + count(operands.b, tile);
  // So few that it takes no time to see that there is nothing to do.
  constexpr std::int64_t leftovers_ctas = 1024;
  const std::int64_t ctas = left == nullptr ? tiles : std::min(tiles, leftovers_ctas);
  return check(
      launch_early(true, write_slices<Slices>, static_cast<unsigned>(ctas), threads, 0, stream, operands, left, lots),
      "launch", "write_slices");
}
template Status enqueue_slices<Bf16x6>(const SplitPair&, const unsigned*, const LotsLeft&, cudaStream_t);

namespace {

/// Pass after pass, for operands of any depth.
template <class Slices>
Status enqueue_passes(const SplitPair& operands, unsigned* zero, std::int64_t zero_words, cudaStream_t stream) {
  const auto clear = [stream](void* words, std::int64_t count) {
    return count == 0 ? cudaSuccess : cudaMemsetAsync(words, 0, static_cast<std::size_t>(count) * 4, stream);
  };
  cudaError_t error = clear(zero, zero_words);
  // Facts are gathered with atomics: they begin as zero too.
  for (const SplitOperand* operand : {&operands.a, &operands.b}) {
    const std::int64_t lines = std::int64_t{operand->facts_pitch} * operand->batches;
    if (error == cudaSuccess) error = clear(operand->facts.max_bits, lines);
    if (error == cudaSuccess) error = clear(operand->facts.tiny, lines);
  }
  if (error != cudaSuccess) return check(error, "cudaMemsetAsync");
  constexpr int k_tile = max_tiles * tile;
  const std::int64_t ctas = count(operands.a, k_tile) + count(operands.b, k_tile);
  find_maxima<<<static_cast<unsigned>(ctas), threads, 0, stream>>>(operands);
  if (Status s = check_launch("find_maxima"); !s.ok()) return s;
  return enqueue_slices<Slices>(operands, nullptr, {}, stream);
}

}  // namespace

template <class Slices>
Status enqueue_split(const SplitPair& operands, unsigned* zero, std::int64_t zero_words, cudaStream_t stream,
                     bool next_begins_early) {
  const int padded_k = (operands.a.depth() + tile - 1) / tile * tile;
  // So large that 512 elements of 32 rows are a CTA's; parts of K are many, and take less shared memory.
  const int share = operands.a.parts == 1 ? 512 : 256;
  int cluster_size = 1;
  while (cluster_size < 8 && cluster_size * share < padded_k) cluster_size *= 2;
  WholePair pair{operands, {}, {}, cluster_size, next_begins_early, zero, zero_words};
  for (const int bytes : whole_shared_bytes) {
    if (pair.a.rows != 0 && pair.b.rows != 0) break;
    pair.a = whole_shape(operands.a, cluster_size, bytes);
    pair.b = whole_shape(operands.b, cluster_size, bytes);
  }
  if (pair.a.rows == 0 || pair.b.rows == 0) return enqueue_passes<Slices>(operands, zero, zero_words, stream);
  if (Status s = allow_shared_memory(split_whole<Slices>, *std::ranges::max_element(whole_shared_bytes), "split_whole");
      !s.ok())
    return s;
  const auto bytes_of = [](const WholeShape& shape) {
    return 4 * shape.pitch * (shape.along_k ? shape.rows : shape.k_share);
  };
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(pair.a.ctas(operands.a.batches * operands.a.parts, cluster_size) +
                                         pair.b.ctas(operands.b.batches * operands.b.parts, cluster_size));
  config.blockDim = threads;
  config.dynamicSmemBytes = static_cast<std::size_t>(std::max(bytes_of(pair.a), bytes_of(pair.b)));
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster_size), 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  return check(cudaLaunchKernelEx(&config, split_whole<Slices>, pair), "launch", "split_whole");
}
template Status enqueue_split<Fp16x3>(const SplitPair&, unsigned*, std::int64_t, cudaStream_t, bool);
template Status enqueue_split<Bf16x6>(const SplitPair&, unsigned*, std::int64_t, cudaStream_t, bool);

}  // namespace exactile::cuda::sm90
