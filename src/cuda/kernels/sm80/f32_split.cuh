// SPDX-License-Identifier: Apache-2.0
/// \file
/// f32 vectors (rows of A, columns of B) on their way to the tensor cores: from memory to registers, scaled, split into
/// two f16 slices, and so to shared memory, once for the whole block. What they keep: docs/accuracy-proofs.md.
#pragma once

#include <cstddef>

#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/isa/opaque.cuh"
#include "cuda/kernels/simt/panel_loader.cuh"
#include "cuda/kernels/sm90/slices.cuh"

namespace exactile::cuda::sm80 {

using sm90::Fp16x3;

inline constexpr int chunk_k = 32;       ///< of K, summed by the tensor cores before f32 takes over
inline constexpr int warp_vectors = 16;  ///< that a warp loads and splits

/// Roundings (in units of 2^-24) that all but tiny elements adds to an error over k terms; see docs/accuracy-proofs.md.
[[nodiscard]] constexpr int mma_roundings(std::int64_t k) { return 55 + static_cast<int>(k / chunk_k); }

/// A thread's elements of 16 vectors x 32 of K: [outer][inner], where neighbours in memory are inner. K-major (q = lane
/// % 8, g = lane / 8): vectors g, g + 4, g + 8, g + 12, k from 4q to 4q + 3. MN-major (q = lane % 4, g = lane / 4): k
/// from 4g to 4g + 3, vectors 4q to 4q + 3.
using Elements = float[4][4];

/// Where a thread's elements come from, chunk after chunk.
class VectorSource {
 public:
  /// `vectors` begin at the warp's first.
  __device__ VectorSource(const simt::Panels<float>& vectors, bool k_major)
      : k_major_(k_major),
        outer_step_(k_major ? 4 * vectors.row_stride : vectors.k_stride),
        inner_step_(k_major ? vectors.k_stride : vectors.row_stride) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int vector = k_major ? lane / 8 : lane % 4 * 4;
    const int k = k_major ? lane % 8 * 4 : lane / 4 * 4;
    from_ = vectors.data + vector * vectors.row_stride + k * vectors.k_stride;
    const int vectors_left = static_cast<int>(vectors.rows) - vector, k_left = static_cast<int>(vectors.k) - k;
    outer_left_ = k_major ? (vectors_left + 3) >> 2 : k_left;
    inner_left_ = k_major ? k_left : vectors_left;
    by_vectors_ = inner_step_ == 1 && (k_major ? vectors.row_stride : vectors.k_stride) % 4 == 0 &&
                  reinterpret_cast<std::uintptr_t>(from_) % 16 == 0;
  }

  /// The next chunk; zeros for what does not exist.
  __device__ void load(Elements& x) {
    if (by_vectors_ && outer_left_ >= 4 && inner_left_ >= 4) {
#pragma unroll
      for (int o = 0; o < 4; ++o) {
        const float4 four = __ldg(reinterpret_cast<const float4*>(from_ + o * outer_step_));
        x[o][0] = four.x;
        x[o][1] = four.y;
        x[o][2] = four.z;
        x[o][3] = four.w;
      }
    } else {
#pragma unroll
      for (int o = 0; o < 4; ++o)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          x[o][i] = o < outer_left_ && i < inner_left_ ? __ldg(from_ + o * outer_step_ + i * inner_step_) : 0.0f;
    }
    from_ += chunk_k * (k_major_ ? inner_step_ : outer_step_);
    (k_major_ ? inner_left_ : outer_left_) -= chunk_k;
  }

 private:
  bool k_major_;
  bool by_vectors_;
  std::int64_t outer_step_;  ///< between a thread's elements
  std::int64_t inner_step_;
  const float* from_;
  int outer_left_;  ///< elements of a thread that there are, in each direction
  int inner_left_;
};

/// Slices of `vectors` vectors of a chunk: 64 bytes of each slice to a vector. The 16 bytes of one slice and of eight k
/// are a piece; pieces are exchanged so that the same piece of eight neighbouring vectors, which ldmatrix takes, and
/// what a warp stores at once lie in different banks.
template <int vectors>
struct SliceTile {
  alignas(128) std::byte data[vectors * 128];

  /// Bits that differ from vector to vector and from piece to piece are joined by xor alone, so that place(vector ^ l,
  /// piece ^ p, slice) = place(vector, piece, 0) ^ place(l, p, slice) where l is below 32.
  [[nodiscard]] __device__ static constexpr int place(int vector, int piece, int slice) {
    return vector * 128 ^ ((2 * piece ^ slice ^ (vector & 7) ^ (vector >> 3 & 3)) << 4);
  }
};

/// What is known of a vector of which part of K has been read.
struct VectorState {
  int scale = 126;         ///< slices and sums are in units of 2^-scale: that of the largest element so far
  int first_scale = -127;  ///< of the first chunk that is not zero
  float underflows = 0;    ///< elements that slices do not hold as well as others; infinite where the vector has Inf

  /// Takes the largest |x| of a chunk into account. Answers what the sums so far must be multiplied by: a power of two.
  __device__ float take(float largest) {
    constexpr int headroom = 2;  // so that few chunks change the scale
    const int exponent = sm90::scale_exponent<Fp16x3>(__float_as_uint(largest));
    const bool is_first = first_scale == -127;
    if (largest == 0 || (!is_first && exponent >= scale)) return 1;
    if (largest == __builtin_inff()) underflows = largest;
    const int before = scale;
    scale = exponent - headroom;
    if (!is_first) return sm90::power_of_two(max(scale - before, -126));
    first_scale = scale;
    return 1;
  }

  /// The error of the vector's sums, where `underflow_scale` is that of one tiny element. Where chunks lie so far apart
  /// that products of the smaller ones might have underflowed in the sums, it has that of one more.
  [[nodiscard]] __device__ float error(float underflow_scale) const {
    constexpr int most_spread = 26;
    if (first_scale == -127) return -__builtin_inff();  // zeros only: whatever the other vector has, the sum is exact
    return (underflows + (first_scale - scale > most_spread ? 1.0f : 0.0f)) * underflow_scale;
  }
};

/// A warp's view of its Elements by vectors and k, 4 x 4 a thread.
template <bool k_major>
struct VectorView {
  static constexpr int step = k_major ? 1 : 4;  ///< between the eight lanes that share vectors

  const Elements& x;

  [[nodiscard]] __device__ float at(int l, int k) const { return k_major ? x[l][k] : x[k][l]; }
  /// Joins v[l] of the lanes that share vectors: each gets that of one vector, and two lanes the same.
  template <class Join>
  [[nodiscard]] __device__ static float joined(float (&v)[4], const Join& join) {
#pragma unroll
    for (int half = 2; half > 0; half /= 2) {
      const bool is_upper = (threadIdx.x & (half * step)) != 0;
#pragma unroll
      for (int l = 0; l < half; ++l) {
        const float others = __shfl_xor_sync(~0u, is_upper ? v[l] : v[l + half], half * step);
        v[l] = join(is_upper ? v[l + half] : v[l], others);
      }
    }
    return join(v[0], __shfl_xor_sync(~0u, v[0], 4 * step));
  }
  /// Of the warp's 16: the vector that joined() gives this lane, which keeps its state.
  [[nodiscard]] __device__ static int own_vector() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return k_major ? lane / 8 + lane % 4 * 4 : lane % 4 * 4 + lane / 4 % 4;
  }
  /// Whether of the two lanes with that vector this is the one that writes.
  [[nodiscard]] __device__ static bool is_keeper() { return (threadIdx.x & (4 * step)) == 0; }
  /// What the keeper of a thread's vector l has.
  [[nodiscard]] __device__ static float of_keeper(float value, int l) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return __shfl_sync(~0u, value, k_major ? lane / 8 * 8 + l : lane % 4 + 4 * l);
  }
};

/// Elements of the lane's own vector that are not zero and that slices do not hold within a rounding.
template <bool k_major>
[[nodiscard]] __device__ inline float count_underflows(const VectorView<k_major>& view, float own_scale) {
  using View = VectorView<k_major>;
  float underflows[4];
#pragma unroll
  for (int l = 0; l < 4; ++l) {
    const float scale = View::of_keeper(own_scale, l);
    underflows[l] = 0;
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const float x = view.at(l, t);
      const float y = x * scale;
      const float rest = y - __half2float(__float2half_rn(y));
      const bool is_held = fabsf(y) >= 0x1p-24f && rest == __half2float(__float2half_rn(rest));
      if (x != 0 && fabsf(y) < Fp16x3::least_ordinary && !is_held) underflows[l] += 1;
    }
  }
  return View::joined(underflows, [](float a, float b) { return a + b; });
}

/// By a warp: slices of its vectors to `to`, from vector `first` on. `shrink`: by what the sums so far are to be
/// multiplied, for each vector. Answers whether that is not 1 for the lane's own.
template <bool k_major, int vectors>
__device__ inline bool split_vectors(SliceTile<vectors>& to, int first, const Elements& x, VectorState& state,
                                     float* shrink) {
  using View = VectorView<k_major>;
  using Tile = SliceTile<vectors>;
  const View view{x};
  const auto larger = [](float a, float b) { return fmaxf(a, b); };
  float most[4];
#pragma unroll
  for (int l = 0; l < 4; ++l)
    most[l] =
        larger(larger(fabsf(view.at(l, 0)), fabsf(view.at(l, 1))), larger(fabsf(view.at(l, 2)), fabsf(view.at(l, 3))));
  const float change = state.take(View::joined(most, larger));
  if (View::is_keeper()) shrink[first + View::own_vector()] = change;
  const float own_scale = sm90::power_of_two(state.scale);

  // A thread has half a piece of each of its vectors.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int half_piece = k_major ? lane % 8 : lane / 4;
  const int first_vector = first + (k_major ? lane / 8 : lane % 4 * 4);
  const int place = isa::opaque(Tile::place(first_vector, half_piece / 2, 0) + half_piece % 2 * 8);
  __half2 least = __float2half2_rn(Fp16x3::least_ordinary);
#pragma unroll
  for (int l = 0; l < 4; ++l) {
    const float scale = View::of_keeper(own_scale, l);
    unsigned words[Fp16x3::slices][2];
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      __half2 s[Fp16x3::slices];
      Fp16x3::split_ordinary(view.at(l, 2 * t) * scale, view.at(l, 2 * t + 1) * scale, s);
      least = __hmin2(least, __habs2(s[0]));
#pragma unroll
      for (int slice = 0; slice < Fp16x3::slices; ++slice)
        words[slice][t] = reinterpret_cast<const unsigned&>(s[slice]);
    }
#pragma unroll
    for (int slice = 0; slice < Fp16x3::slices; ++slice)
      *reinterpret_cast<uint2*>(to.data + (place ^ Tile::place(k_major ? 4 * l : l, 0, slice))) =
          make_uint2(words[slice][0], words[slice][1]);
  }
  if (__any_sync(~0u, !__hbge2(least, __float2half2_rn(Fp16x3::least_ordinary))))
    state.underflows += count_underflows<k_major>(view, own_scale);
  return change != 1;
}

}  // namespace exactile::cuda::sm80
