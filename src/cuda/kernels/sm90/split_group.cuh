// SPDX-License-Identifier: Apache-2.0
/// \file
/// Eight neighbouring elements of a row or column as slices: what both ways to split have in common.
#pragma once

#include "cuda/kernels/sm90/split.hpp"

namespace exactile::cuda::sm90::split {

inline constexpr int tile = 64;  // of rows and of k
inline constexpr int threads = 256;

/// |x| as an integer that orders as |x| does.
[[nodiscard]] __device__ inline unsigned absolute_bits(float x) { return __float_as_uint(x) & 0x7fffffffu; }

inline constexpr unsigned infinite_bits = 0x7f800000u;

/// The same; 0 for Inf and NaN.
[[nodiscard]] __device__ inline unsigned finite_bits(float x) {
  const unsigned bits = absolute_bits(x);
  return bits < infinite_bits ? bits : 0u;
}

inline constexpr int group = 8;  // elements of K that a thread writes at a time: 16 bytes of each slice

/// Writes the slices of `group` elements from k on; how much tiny is in them.
template <class Slices>
[[nodiscard]] __device__ inline unsigned write_group(const SplitOperand& operand, std::int64_t row_in_all, int k,
                                                     const float (&x)[group], float scale) {
  union {
    typename Slices::Element element[group];
    typename Slices::Pair pair[group / 2];
    uint4 bits;
  } packed[Slices::slices];
  unsigned underflows = 0;
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
      for (int slice = 0; slice < Slices::slices; ++slice) packed[slice].pair[i] = s[slice];
    }
  } else {
#pragma unroll
    for (int i = 0; i < group; ++i) {
      typename Slices::Element s[Slices::slices];
      underflows += Slices::split(x[i], x[i] * scale, operand.k, s);
#pragma unroll
      for (int slice = 0; slice < Slices::slices; ++slice) packed[slice].element[i] = s[slice];
    }
  }
  const int blocks = blocks_of<Slices>(operand.slice_k());
  auto* to = static_cast<uint4*>(operand.slices) + (row_in_all * blocks + k / block_k) * (block_bytes<Slices> / 16);
#pragma unroll
  for (int slice = 0; slice < Slices::slices; ++slice)
    to[slice * (block_k / group) + k % block_k / group] = packed[slice].bits;
  return underflows;
}

}  // namespace exactile::cuda::sm90::split
