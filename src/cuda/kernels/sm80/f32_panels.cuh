// SPDX-License-Identifier: Apache-2.0
/// \file
/// f32 rows of A and columns of B, both called vectors here, on their way from memory to a warp's registers, where
/// each element becomes three bf16 slices. What they keep: docs/accuracy-proofs.md.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/isa/mma_m16n8.cuh"

namespace exactile::cuda::sm80::f32 {

inline constexpr int panel_k = 32;  ///< of K, in shared memory at a time
inline constexpr int chunk_k = 16;  ///< of K, summed by the tensor cores before f32 takes over

/// Some vectors' panel_k terms in shared memory, as they lie in memory: vector by vector, or term by term. Blocks of
/// 16 bytes are exchanged so that what a warp reads at once lies in different banks.
template <int vectors, bool k_major>
struct Panel {
  [[nodiscard]] __device__ static constexpr int place(int vector, int k) {
    return k_major ? vector * panel_k + (k ^ (vector & 1) << 4) : k * vectors + (vector ^ (k >> 2 & 3) << 3);
  }
  /// Terms k to k + 3 of a vector, where k is a multiple of 4.
  __device__ static void read(float (&to)[4], const float* panel, int vector, int k) {
    if constexpr (k_major) {
      const float4 four = *reinterpret_cast<const float4*>(panel + place(vector, k));
      to[0] = four.x;
      to[1] = four.y;
      to[2] = four.z;
      to[3] = four.w;
    } else {
      const float* const first = panel + place(vector, k);
#pragma unroll
      for (int i = 0; i < 4; ++i) to[i] = first[i * vectors];
    }
  }
};

/// Copies 4 bytes where `index` is below `count`; otherwise they become zeros, and `from` is not read.
__device__ inline void copy_below(float* to_shared, const float* from, int index, int count) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "{\n.reg .pred none;\nsetp.ge.s32 none, %2, %3;\ncp.async.ca.shared.global [%0], [%1], 4, none;\n}" ::"r"(
          static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared))),
      "l"(from), "r"(index), "r"(count)
      : "memory");
#endif
}

/// An operand from a tile's first vector and a CTA's first term on.
struct Vectors {
  const float* data;
  std::int64_t vector_stride;
  std::int64_t k_stride;
  int count;  ///< vectors that there are
  int k;      ///< terms
};

/// By all threads of a block: panel after panel to shared memory, zeros for what does not exist.
template <int vectors, bool k_major, int threads>
class PanelReader {
 public:
  __device__ explicit PanelReader(const Vectors& from)
      : by_fours_((k_major ? from.k_stride : from.vector_stride) == 1 &&
                  (k_major ? from.vector_stride : from.k_stride) % 4 == 0 &&
                  reinterpret_cast<std::uintptr_t>(from.data) % 16 == 0) {
    const int thread = static_cast<int>(threadIdx.x);
    const int inner = by_fours_ ? thread % (in_line / 4) * 4 : thread % in_line;
    const int outer = thread / (by_fours_ ? in_line / 4 : in_line);
    vector_ = k_major ? outer : inner;
    k_ = k_major ? inner : outer;
    from_ = from.data + vector_ * from.vector_stride + k_ * from.k_stride;
    line_step_ = k_major ? from.vector_stride : from.k_stride;
    panel_step_ = panel_k * from.k_stride;
    vectors_left_ = from.count - vector_;
    k_left_ = from.k - k_;
  }

  __device__ void fetch(float* panel) {
    by_fours_ ? fetch<4>(panel) : fetch<1>(panel);
    from_ += panel_step_;
    k_left_ -= panel_k;
  }

 private:
  static constexpr int in_line = k_major ? panel_k : vectors;
  static constexpr int lines = k_major ? vectors : panel_k;

  template <int width>
  __device__ void fetch(float* panel) const {
    constexpr int lines_at_once = threads * width / in_line;
    const int inner_left = min(k_major ? k_left_ : vectors_left_, width);
    const int outer_left = inner_left > 0 ? (k_major ? vectors_left_ : k_left_) : 0;
#pragma unroll
    for (int line = 0; line < lines; line += lines_at_once) {
      float* const to = panel + (k_major ? Panel<vectors, true>::place(vector_ + line, k_)
                                         : Panel<vectors, false>::place(vector_, k_ + line));
      const float* const from = from_ + line * line_step_;
      if constexpr (width == 1)
        copy_below(to, from, line, outer_left);
      else
        isa::copy_async<4 * width>(to, from, line < outer_left ? 4 * inner_left : 0);
    }
  }

  bool by_fours_;  ///< 16 bytes at a time
  const float* from_;
  std::int64_t line_step_;
  std::int64_t panel_step_;
  int vector_, k_;  ///< the thread's first element of a panel
  int vectors_left_;
  int k_left_;
};

/// Two neighbouring terms as slices of 8 bits each, whose sum they are: bf16, rounded to nearest.
inline constexpr int slices = 3;
using PairSlices = std::uint32_t[slices];

__device__ inline void split(PairSlices& to, float first, float second) {
#pragma unroll
  for (std::uint32_t& slice : to) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
    slice = reinterpret_cast<const std::uint32_t&>(pair);
    first -= __uint_as_float(slice << 16);
    second -= __uint_as_float(slice & 0xffff0000);
  }
}

/// Magnitudes of elements, which zeros are above, in an order of unsigned numbers.
[[nodiscard]] __device__ inline std::uint32_t magnitude_or_most(float x) { return 2 * __float_as_uint(x) - 1; }
/// 2^exponent
[[nodiscard]] __device__ constexpr std::uint32_t magnitude_of_power(int exponent) {
  return static_cast<std::uint32_t>(exponent + 127) << 24;
}

}  // namespace exactile::cuda::sm80::f32
