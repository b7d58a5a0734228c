// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/split.hpp"

#include <algorithm>

#include "cuda/kernels/sm90/split_passes.cuh"
#include "cuda/kernels/sm90/split_whole.cuh"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm90 {

namespace {

/// Pass after pass, for operands of any depth.
template <class Slices>
Status enqueue_passes(const SplitPair& operands, unsigned* zero, std::int64_t zero_words, cudaStream_t stream) {
  using namespace split;
  const auto clear = [stream](void* words, std::int64_t count) {
    return count == 0 ? cudaSuccess : cudaMemsetAsync(words, 0, static_cast<std::size_t>(count) * 4, stream);
  };
  cudaError_t error = clear(zero, zero_words);
  // Scales are gathered with atomics: they begin as zero too.
  for (const SplitOperand* operand : {&operands.a, &operands.b}) {
    const std::int64_t scale_count = std::int64_t{operand->scales_pitch} * operand->batches;
    if (error == cudaSuccess) error = clear(operand->scales.max_bits, scale_count);
    if (error == cudaSuccess) error = clear(operand->scales.underflows, scale_count);
  }
  if (error != cudaSuccess) return check(error, "cudaMemsetAsync");
  constexpr int k_tile = max_tiles * tile;
  const std::int64_t ctas = count(operands.a, k_tile) + count(operands.b, k_tile);
  find_maxima<<<static_cast<unsigned>(ctas), threads, 0, stream>>>(operands);
  if (Status s = check_launch("find_maxima"); !s.ok()) return s;
  const std::int64_t tiles = count(operands.a, tile) + count(operands.b, tile);
  return check(launch_early(true, write_slices<Slices>, static_cast<unsigned>(tiles), threads, 0, stream, operands),
               "launch", "write_slices");
}

/// SMs of the current device.
int sms_here() {
  int device = 0, sms = 0;
  static_cast<void>(cudaGetDevice(&device));
  static_cast<void>(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  return sms;
}

}  // namespace

template <class Slices>
Status enqueue_split(const SplitPair& operands, unsigned* zero, std::int64_t zero_words, cudaStream_t stream,
                     bool next_begins_early) {
  using namespace split;
  const int padded_k = (operands.a.slice_k() + tile - 1) / tile * tile;
  // So large that 512 elements of 32 rows are a CTA's; K slices are many, and take less shared memory.
  const int share = operands.a.split_k == 1 ? 512 : 256;
  int cluster_size = 1;
  while (cluster_size < 8 && cluster_size * share < padded_k) cluster_size *= 2;
  const std::int64_t vectors = std::int64_t{operands.a.rows} * operands.a.batches * operands.a.split_k +
                               std::int64_t{operands.b.rows} * operands.b.batches * operands.b.split_k;
  const int sms = sms_here();
  WholePair pair{operands, {}, {}, cluster_size, 0, next_begins_early, zero, zero_words};
  for (const int bytes : whole_shared_bytes) {
    if (pair.a.rows != 0 && pair.b.rows != 0) break;
    pair.a = whole_shape(operands.a, cluster_size, bytes, vectors / sms);
    pair.b = whole_shape(operands.b, cluster_size, bytes, vectors / sms);
  }
  const auto bytes_of = [](const WholeShape& shape) {
    return 4 * shape.pitch * (shape.k_major ? shape.rows : shape.k_share);
  };
  const int bytes = std::max(bytes_of(pair.a), bytes_of(pair.b));
  const bool is_alone = bytes > whole_shared_bytes[1];  // a CTA on its SM
  if (pair.a.rows == 0 || pair.b.rows == 0 || (is_alone && vectors > sms))
    return enqueue_passes<Slices>(operands, zero, zero_words, stream);
  if (Status s = allow_shared_memory(split_whole<Slices>, *std::ranges::max_element(whole_shared_bytes), "split_whole");
      !s.ok())
    return s;
  pair.a_ctas = static_cast<unsigned>(pair.a.ctas(operands.a.batches * operands.a.split_k, cluster_size));
  const unsigned b_ctas = static_cast<unsigned>(pair.b.ctas(operands.b.batches * operands.b.split_k, cluster_size));
  return check(launch_clusters(false, cluster_size, split_whole<Slices>, pair.a_ctas + b_ctas, threads,
                               static_cast<std::size_t>(bytes), stream, pair),
               "launch", "split_whole");
}
template Status enqueue_split<Fp16x3>(const SplitPair&, unsigned*, std::int64_t, cudaStream_t, bool);

}  // namespace exactile::cuda::sm90
