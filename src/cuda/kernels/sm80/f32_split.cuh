// SPDX-License-Identifier: Apache-2.0
/// \file
/// f32 lines (rows of A, columns of B) on their way to the tensor cores: from memory to registers, scaled, split into
/// two f16 slices, and so to shared memory, once for the whole block. docs/accuracy.md proves what the slices keep.
#pragma once

#include <cstddef>

#include "cuda/isa/here.cuh"
#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/kernels/simt/panel_loader.cuh"
#include "cuda/kernels/sm90/slices.cuh"

namespace exactile::cuda::sm80 {

using sm90::Fp16x3;

inline constexpr int chunk_k = 32;     ///< of K, summed by the tensor cores before f32 takes over
inline constexpr int warp_lines = 16;  ///< that a warp loads and splits

/// Roundings (in units of 2^-24) that all but tiny elements adds to an error over a sum of k; see docs/accuracy.md.
[[nodiscard]] constexpr int mma_roundings(std::int64_t k) { return 55 + static_cast<int>(k / chunk_k); }

/// A thread's elements of 16 lines x 32 of K: [outer][inner], where neighbours in memory are inner.
/// Along K (q = lane % 8, g = lane / 8): lines g, g + 4, g + 8, g + 12, terms 4q ... 4q + 3.
/// Across (q = lane % 4, g = lane / 4): terms 4g ... 4g + 3, lines 4q ... 4q + 3.
using Elements = float[4][4];

/// Where a thread's elements come from, chunk after chunk.
class LineSource {
 public:
  /// `lines` begin at the warp's first.
  __device__ LineSource(const simt::Panels<float>& lines, bool along_k)
      : along_k_(along_k),
        outer_step_(along_k ? 4 * lines.row_stride : lines.term_stride),
        inner_step_(along_k ? lines.term_stride : lines.row_stride) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int line = along_k ? lane / 8 : lane % 4 * 4;
    const int term = along_k ? lane % 8 * 4 : lane / 4 * 4;
    from_ = lines.data + line * lines.row_stride + term * lines.term_stride;
    const int lines_left = static_cast<int>(lines.rows) - line, terms_left = static_cast<int>(lines.terms) - term;
    outer_left_ = along_k ? (lines_left + 3) >> 2 : terms_left;
    inner_left_ = along_k ? terms_left : lines_left;
    by_vectors_ = inner_step_ == 1 && (along_k ? lines.row_stride : lines.term_stride) % 4 == 0 &&
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
    from_ += chunk_k * (along_k_ ? inner_step_ : outer_step_);
    (along_k_ ? inner_left_ : outer_left_) -= chunk_k;
  }

 private:
  bool along_k_;
  bool by_vectors_;
  std::int64_t outer_step_;  ///< between a thread's elements
  std::int64_t inner_step_;
  const float* from_;
  int outer_left_;  ///< elements of a thread that there are, in each direction
  int inner_left_;
};

/// Slices of `lines` lines of a chunk: 64 bytes of each slice to a line. The 16 bytes of one slice and of eight terms
/// are a piece; pieces are exchanged so that the same piece of eight neighbouring lines, which ldmatrix takes, and what
/// a warp stores at once lie in different banks.
template <int lines>
struct SliceTile {
  alignas(128) std::byte data[lines * 128];

  /// Bits that differ from line to line and from piece to piece are joined by xor alone, so that
  /// place(line ^ l, piece ^ p, slice) = place(line, piece, 0) ^ place(l, p, slice) where l is below 32.
  [[nodiscard]] __device__ static constexpr int place(int line, int piece, int slice) {
    return line * 128 ^ ((2 * piece ^ slice ^ (line & 7) ^ (line >> 3 & 3)) << 4);
  }
};

/// What is known of a line of which a part of K has been read.
struct LineState {
  int scale = 126;         ///< slices and sums are in units of 2^-scale: that of the largest element so far
  int first_scale = -127;  ///< of the first chunk that is not zero
  float tiny = 0;          ///< elements that slices do not hold as well as others; infinite where the line has Inf

  /// Takes the largest |x| of a chunk into account. Answers what the sums so far must be multiplied by: a power of two.
  __device__ float take(float largest) {
    constexpr int headroom = 2;  // so that few chunks change the scale
    const int exponent = sm90::scale_exponent<Fp16x3>(__float_as_uint(largest));
    const bool is_first = first_scale == -127;
    if (largest == 0 || (!is_first && exponent >= scale)) return 1;
    if (largest == __builtin_inff()) tiny = largest;
    const int before = scale;
    scale = exponent - headroom;
    if (!is_first) return sm90::power_of_two(max(scale - before, -126));
    first_scale = scale;
    return 1;
  }

  /// The error of the line's sums, where `tiny_scale` is that of one tiny element. Where chunks lie so far apart that
  /// products of the smaller ones might have underflowed in the sums, it has that of one more.
  [[nodiscard]] __device__ float error(float tiny_scale) const {
    constexpr int most_spread = 26;
    if (first_scale == -127) return -__builtin_inff();  // zeros only: whatever the other line has, the sum is exact
    return (tiny + (first_scale - scale > most_spread ? 1.0f : 0.0f)) * tiny_scale;
  }
};

/// A warp's view of its Elements as lines and terms, 4 x 4 a thread.
template <bool along_k>
struct LineView {
  static constexpr int step = along_k ? 1 : 4;  ///< between the eight lanes that share lines

  const Elements& x;

  [[nodiscard]] __device__ float at(int l, int term) const { return along_k ? x[l][term] : x[term][l]; }
  /// Joins v[l] of the lanes that share lines: each gets that of one line, and two lanes the same.
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
  /// Of the warp's 16: the line that joined() gives this lane, which keeps its state.
  [[nodiscard]] __device__ static int own_line() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return along_k ? lane / 8 + lane % 4 * 4 : lane % 4 * 4 + lane / 4 % 4;
  }
  /// Whether of the two lanes with that line this is the one that writes.
  [[nodiscard]] __device__ static bool is_keeper() { return (threadIdx.x & (4 * step)) == 0; }
  /// What the keeper of a thread's line l has.
  [[nodiscard]] __device__ static float of_keeper(float value, int l) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return __shfl_sync(~0u, value, along_k ? lane / 8 * 8 + l : lane % 4 + 4 * l);
  }
};

/// Elements of the lane's own line that are not zero and that slices do not hold within a rounding.
template <bool along_k>
[[nodiscard]] __device__ inline float count_tiny(const LineView<along_k>& view, float own_scale) {
  using View = LineView<along_k>;
  float tiny[4];
#pragma unroll
  for (int l = 0; l < 4; ++l) {
    const float scale = View::of_keeper(own_scale, l);
    tiny[l] = 0;
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const float x = view.at(l, t);
      const float y = x * scale;
      const float rest = y - __half2float(__float2half_rn(y));
      const bool is_held = fabsf(y) >= 0x1p-24f && rest == __half2float(__float2half_rn(rest));
      if (x != 0 && fabsf(y) < Fp16x3::least_ordinary && !is_held) tiny[l] += 1;
    }
  }
  return View::joined(tiny, [](float a, float b) { return a + b; });
}

/// By a warp: slices of its lines to `to`, from line `first` on. `shrink`: by what the sums so far are to be
/// multiplied, for each line. Answers whether that is not 1 for the lane's own.
template <bool along_k, int lines>
__device__ inline bool split_lines(SliceTile<lines>& to, int first, const Elements& x, LineState& state,
                                   float* shrink) {
  using View = LineView<along_k>;
  using Tile = SliceTile<lines>;
  const View view{x};
  const auto larger = [](float a, float b) { return fmaxf(a, b); };
  float most[4];
#pragma unroll
  for (int l = 0; l < 4; ++l)
    most[l] =
        larger(larger(fabsf(view.at(l, 0)), fabsf(view.at(l, 1))), larger(fabsf(view.at(l, 2)), fabsf(view.at(l, 3))));
  const float change = state.take(View::joined(most, larger));
  if (View::is_keeper()) shrink[first + View::own_line()] = change;
  const float own_scale = sm90::power_of_two(state.scale);

  // A thread has half a piece of each of its lines.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int half_piece = along_k ? lane % 8 : lane / 4;
  const int first_line = first + (along_k ? lane / 8 : lane % 4 * 4);
  const int place = isa::found_anew(Tile::place(first_line, half_piece / 2, 0) + half_piece % 2 * 8);
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
      *reinterpret_cast<uint2*>(to.data + (place ^ Tile::place(along_k ? 4 * l : l, 0, slice))) =
          make_uint2(words[slice][0], words[slice][1]);
  }
  if (__any_sync(~0u, !__hbge2(least, __float2half2_rn(Fp16x3::least_ordinary))))
    state.tiny += count_tiny<along_k>(view, own_scale);
  return change != 1;
}

}  // namespace exactile::cuda::sm80
