// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a CTA multiplies: its part of the matrix step by step in registers.
#pragma once

#include <algorithm>
#include <bit>

#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/kernels/gemv/vectors.cuh"

namespace exactile::cuda::gemv_family {

/// Two 8-bit floats as f16.
template <class T>
[[nodiscard]] __device__ inline __half2_raw halves(std::uint32_t pair) {
  return __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair),
                                    std::is_same_v<T, __nv_fp8_e4m3> ? __NV_E4M3 : __NV_E5M2);
}

/// What a lane loads at a time. Narrow elements are kept as words: by themselves they take a register each.
template <class T, int width>
struct alignas(width * sizeof(T)) Loaded {
  static constexpr int of_word = width * sizeof(T) >= 4 ? 4 / std::min<int>(sizeof(T), 4) : 1;  ///< elements
  using Word = std::conditional_t<(of_word > 1), std::uint32_t, T>;
  static constexpr int bits = of_word > 1 ? 8 * static_cast<int>(sizeof(T)) : 0;
  Word word[width / of_word];

  [[nodiscard]] __device__ T at(int e) const {
    if constexpr (of_word == 1) {
      return word[e];
    } else {
      using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
      return std::bit_cast<T>(static_cast<Bits>(word[e / of_word] >> (e % of_word * bits)));
    }
  }
  /// Element e in the type that sums. Of 8-bit floats two are converted at a time.
  [[nodiscard]] __device__ DeviceAccumulator<T> widened(int e) const {
    if constexpr (is_f8_v<T> && of_word == 4) {
      const __half2 both = halves<T>(word[e / 4] >> (e % 4 / 2 * 16));
      return __half2float(e % 2 == 0 ? both.x : both.y);
    } else {
      return widen(at(e));
    }
  }
  __device__ void clear(int e) {
    if constexpr (of_word == 1) {
      word[e] = T{};
    } else {
      word[e / of_word] &= ~(((1U << bits) - 1) << (e % of_word * bits));
    }
  }
  /// Of an element that is 0.
  __device__ void set(int e, const T* from) {
    if constexpr (of_word == 1) {
      word[e] = *from;
    } else {
      using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
      word[e / of_word] |= std::uint32_t{*reinterpret_cast<const Bits*>(from)} << (e % of_word * bits);
    }
  }
};

/// What a lane holds of W for a step: of each column, or of each line, some loads.
template <class S>
struct Step {
  Loaded<typename S::In, S::width> at[S::lines][S::loads];
};

/// A CTA's part of W: what its lanes read of it.
template <class S>
class Stream {
 public:
  using In = typename S::In;
  using Accumulator = typename S::Accumulator;

  __device__ Stream(const GemmDescription& d, const In* w, std::int64_t column)
      : k_stride_(d.b.row_stride), n_stride_(d.b.column_stride), k_end_(d.k), n_end_(d.n) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t far = S::along_k ? n_stride_ : k_stride_;
    // A vector reaches less than its bytes beyond a line: into the next one.
    has_neighbours_ = far * S::size >= 16 || far * S::size <= -16;
    const int group = S::group(lane), in_line = S::along_line(lane) * S::width;
    const int line = S::is_shifted ? group * warps + warp : (warp * S::groups + group) * S::lines;
    in_step_ = S::along_k ? in_line : line;
    met_ = S::is_shifted ? line * S::lines : line;
    first_ = column + (S::along_k ? line : in_line);
    shift_ = S::is_shifted ? shift_of(w, column, line) : 0;
    w_ = w + first_ * n_stride_ + in_step_ * k_stride_ - shift_;
    if constexpr (S::along_k) {
      k_end_ += shift_;
      has_all_columns_ = first_ + (S::columns - 1) * apart < n_end_;
    } else {
      first_ -= shift_;
      has_all_columns_ = column >= shift_ && column + S::window - shift_ <= n_end_;
    }
  }

  /// Elements from the vector in which a line begins to the line, or to its part in this CTA; for all lines of a warp.
  [[nodiscard]] __device__ int shift() const { return shift_; }

  /// The same of another warp.
  [[nodiscard]] __device__ int shift_of(const In* w, std::int64_t column, int line) const {
    const In* const at = w + (S::along_k ? (column + line) * n_stride_ : column + line * k_stride_);
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % (S::width * S::size)) / S::size;
  }

  __device__ void load_step(Step<S>& to, std::int64_t k) const {
    if (has_all_columns_ && k + S::step <= k_end_ && (!S::along_k || k >= shift_)) {
      load_step<true>(to, k);
    } else {
      load_step<false>(to, k);
    }
  }

  /// Vectors were read whole, but K begins or ends within them.
  __device__ void clear_beyond_k(Step<S>& step, std::int64_t k) const {
    if constexpr (S::along_k && S::width > 1) {
      if (k >= shift_ && k + S::step <= k_end_) return;
#pragma unroll
      for (int l = 0; l < S::loads; ++l)
#pragma unroll
        for (int e = 0; e < S::width; ++e) {
          const std::int64_t at = k + in_step_ + l * (S::lanes * S::width) + e;
          if (at >= shift_ && at < k_end_) continue;
#pragma unroll
          for (int i = 0; i < S::lines; ++i) step.at[i][l].clear(e);
        }
    }
  }

  /// `p`: where the step begins in the vectors.
  __device__ void multiply(const Step<S>& step, const Vectors<S>& vectors, int p, typename S::Sums& sums) const {
    constexpr int width = Vectors<S>::width;
    if constexpr (S::by_mma) {
      multiply_by_mma(step, vectors, p, sums);
    } else if constexpr (S::multiplies_fours) {
      multiply_fours(step, vectors, p, sums);
    } else if constexpr (S::along_k) {
#pragma unroll
      for (int l = 0; l < S::loads; ++l)
#pragma unroll
        for (int part = 0; part < S::width / width; ++part)
          multiply_part([&](int e, int c) { return step.at[c][l].widened(part * width + e); },
                        [&](int r) { return vectors.read(r, p + l * S::lanes * S::width, part); }, sums);
    } else {
#pragma unroll
      for (int part = 0; part < S::lines / width; ++part)
        multiply_part([&](int i, int c) { return step.at[part * width + i][c / S::width].widened(c % S::width); },
                      [&](int r) { return vectors.read(r, p + met_, part); }, sums);
    }
  }

 private:
  /// As many terms of each sum as vector(r) has elements, those of row r: matrix(term, column) is what they meet.
  template <class Matrix, class VectorOf>
  static __device__ void multiply_part(const Matrix& matrix, const VectorOf& vector, typename S::Sums& sums) {
    constexpr int terms = Vectors<S>::width;
    Accumulator w[terms][S::columns];
#pragma unroll
    for (int t = 0; t < terms; ++t)
#pragma unroll
      for (int c = 0; c < S::columns; ++c) w[t][c] = matrix(t, c);
#pragma unroll
    for (int r = 0; r < S::rows; ++r) {
      const auto x = vector(r);
#pragma unroll
      for (int t = 0; t < terms; ++t)
#pragma unroll
        for (int c = 0; c < S::columns; ++c) sums[r][c] = multiply_add(as<Accumulator>(x.at[t]), w[t][c], sums[r][c]);
    }
  }

  /// Two columns of each lane and four lines of it at a time.
  __device__ void multiply_by_mma(const Step<S>& step, const Vectors<S>& vectors, int p, typename S::Sums& sums) const {
    const int row = static_cast<int>(threadIdx.x) % 32 / 4;
    const auto x = vectors.read(min(row, S::rows - 1), p + met_, 0);
    const auto* const pairs = reinterpret_cast<const std::uint32_t*>(&x);
#pragma unroll
    for (int line = 0; line < S::lines; line += 4) {
      const bool is_there = row < S::rows;
      const std::uint32_t b[2] = {is_there ? pairs[line / 2] : 0, is_there ? pairs[line / 2 + 1] : 0};
#pragma unroll
      for (int c = 0; c < S::columns; c += 2) {
        std::uint32_t a[4];
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
          // The next terms of one column, and of the other.
          const std::uint32_t both = __byte_perm(step.at[line + i][0].word[c / 4], step.at[line + i + 1][0].word[c / 4],
                                                 c % 4 == 0 ? 0x5140 : 0x7362);
          a[i] = std::bit_cast<std::uint32_t>(halves<In>(both));
          a[i + 1] = std::bit_cast<std::uint32_t>(halves<In>(both >> 16));
        }
        isa::mma<__half>(sums[c / 2], a, b);
      }
    }
  }

  /// Four 8-bit terms of a sum at a time.
  __device__ void multiply_fours(const Step<S>& step, const Vectors<S>& vectors, int p, typename S::Sums& sums) const {
    constexpr int fours = (S::along_k ? S::loads * S::width : S::lines) / 4;
    constexpr int of_load = S::width / 4;  // words
    const auto words_of = [](const auto& vector) { return reinterpret_cast<const std::uint32_t*>(&vector); };
    std::uint32_t w[fours][S::columns];  // [terms][column]
#pragma unroll
    for (int f = 0; f < fours; ++f) {
      if constexpr (S::along_k) {
#pragma unroll
        for (int c = 0; c < S::columns; ++c) w[f][c] = words_of(step.at[c][f / of_load])[f % of_load];
      } else if constexpr (S::width == 1) {
#pragma unroll
        for (int c = 0; c < S::columns; ++c) {
          const auto element = [&](int i) { return static_cast<std::uint32_t>(step.at[4 * f + i][c].at(0)); };
          w[f][c] = __byte_perm(__byte_perm(element(0), element(1), 0x0040),
                                __byte_perm(element(2), element(3), 0x0040), 0x5410);
        }
      } else {
#pragma unroll
        for (int c = 0; c < S::columns; c += 4) {
          const auto line = [&](int i) { return words_of(step.at[4 * f + i][c / S::width])[c % S::width / 4]; };
          const std::uint32_t low[2] = {__byte_perm(line(0), line(1), 0x5140), __byte_perm(line(2), line(3), 0x5140)};
          const std::uint32_t high[2] = {__byte_perm(line(0), line(1), 0x7362), __byte_perm(line(2), line(3), 0x7362)};
          w[f][c] = __byte_perm(low[0], low[1], 0x5410);
          w[f][c + 1] = __byte_perm(low[0], low[1], 0x7632);
          w[f][c + 2] = __byte_perm(high[0], high[1], 0x5410);
          w[f][c + 3] = __byte_perm(high[0], high[1], 0x7632);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < S::rows; ++r)
#pragma unroll
      for (int l = 0; l < (S::along_k ? S::loads : 1); ++l) {
        const auto x = vectors.read(r, p + (S::along_k ? l * S::lanes * S::width : met_), 0);
        constexpr int met = S::along_k ? of_load : fours;  // words of x
#pragma unroll
        for (int f = 0; f < met; ++f)
#pragma unroll
          for (int c = 0; c < S::columns; ++c)
            sums[r][c] = __dp4a(static_cast<int>(words_of(x)[f]), static_cast<int>(w[l * met + f][c]), sums[r][c]);
      }
  }

  template <bool full>
  __device__ void load_step(Step<S>& to, std::int64_t k) const {
#pragma unroll
    for (int i = 0; i < S::lines; ++i)
#pragma unroll
      for (int l = 0; l < S::loads; ++l) {
        constexpr int of_load = S::lanes * S::width;  // elements of a line
        const std::int64_t in_k = k + (S::along_k ? l * of_load : i * apart);
        const std::int64_t in_n = S::along_k ? i * apart : l * of_load;
        const In* const from = w_ + in_n * n_stride_ + in_k * k_stride_;
        if constexpr (full) {
          to.at[i][l] = *reinterpret_cast<const Loaded<In, S::width>*>(from);
        } else {
          const std::int64_t column = first_ + in_n, at = in_step_ + in_k;
          if constexpr (S::along_k) {
            to.at[i][l] = load(from, column, n_end_, shift_ - at, k_end_ - at);
          } else {
            to.at[i][l] = load(from, at, k_end_, -column, n_end_ - column);
          }
        }
      }
  }

  /// Of line `line` of `lines`; the line has the elements from `begin` to `end`, counted from the first of the load.
  [[nodiscard]] __device__ Loaded<In, S::width> load(const In* from, std::int64_t line, std::int64_t lines,
                                                     std::int64_t begin, std::int64_t end) const {
    if (line >= lines || begin >= S::width || end <= 0) return {};
    const bool is_whole = begin <= 0 && end >= S::width;
    if (is_whole || (has_neighbours_ && line > 0 && line < lines - 1))
      return *reinterpret_cast<const Loaded<In, S::width>*>(from);
    Loaded<In, S::width> x{};
#pragma unroll
    for (int e = 0; e < S::width; ++e)
      if (e >= begin && e < end) x.set(e, from + e);
    return x;
  }

  /// Lines from one of a lane to its next.
  static constexpr int apart = S::is_shifted ? warps * S::groups : 1;

  const In* w_;
  std::int64_t k_stride_, n_stride_;
  std::int64_t k_end_, n_end_;  ///< of W, the former counted from where the warp's first load begins
  std::int64_t first_;          ///< column of the lane
  int in_step_, met_;           ///< where the lane's part of a step begins in K, and in shared memory
  int shift_;
  bool has_all_columns_, has_neighbours_;
};

}  // namespace exactile::cuda::gemv_family
