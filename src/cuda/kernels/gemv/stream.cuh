// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a CTA multiplies: its part of the matrix step by step in registers.
#pragma once

#include <algorithm>
#include <bit>

#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/kernels/gemv/raw_vectors.cuh"
#include "cuda/kernels/gemv/vectors.cuh"

namespace exactile::cuda::gemv_family {

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
    const int line = S::is_shifted               ? group * warps + warp
                     : S::along_k && S::shares_k ? group * S::lines
                                                 : (warp * S::groups + group) * S::lines;
    const int of_warp = S::along_k && S::shares_k ? warp * S::warp_step : 0;
    in_step_ = S::along_k ? of_warp + in_line : line;
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
      for (int l = 0; l < S::loads; ++l) {
        const std::int64_t at = k + in_step_ + l * (S::lanes * S::width);
#pragma unroll
        for (int i = 0; i < S::lines; ++i) step.at[i][l].keep_from_to(shift_ - at, k_end_ - at);
      }
    }
  }

  /// `p`: where the step begins in the vectors.
  __device__ void multiply(const Step<S>& step, const RawVectors<S>& vectors, int p, typename S::Sums& sums) const {
    if constexpr (S::along_k)
      multiply_lines_by_mma(step, vectors, p, sums);
    else
      multiply_columns_by_mma(step, vectors, p, sums);
  }
  __device__ void multiply(const Step<S>& step, const Vectors<S>& vectors, int p, typename S::Sums& sums) const {
    constexpr int width = Vectors<S>::width;
    if constexpr (S::multiplies_fours) {
      multiply_fours(step, vectors, p, sums);
    } else if constexpr (S::along_k) {
#pragma unroll
      for (int l = 0; l < S::loads; ++l)
#pragma unroll
        for (int part = 0; part < S::width / width; ++part)
          multiply_part([&](int e, int c) { return step.at[c][l].template to<Accumulator>(part * width + e); },
                        [&](int r) { return vectors.read(r, p + l * S::lanes * S::width, part); }, sums);
    } else {
#pragma unroll
      for (int part = 0; part < S::lines / width; ++part)
        multiply_part(
            [&](int i, int c) {
              return step.at[part * width + i][c / S::width].template to<Accumulator>(c % S::width);
            },
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

  /// Elements of the vectors for a tensor core: those that the lane gives it, from place `p` of the chunk on.
  template <int words>
  static __device__ void read_vectors(std::uint32_t (&x)[words], const RawVectors<S>& vectors, int p) {
    const int row = static_cast<int>(threadIdx.x) % 32 / 4;
    vectors.read(x, min(row, S::rows - 1), p);
#pragma unroll
    for (std::uint32_t& word : x) word = row < S::rows ? word : 0;
  }

  /// Four terms each of two columns of C: pairs of the first, of the second, and of both the next. `x`: what they meet.
  static __device__ void multiply_by_mma(float (&sums)[4], const std::uint32_t (&pairs)[4], std::uint32_t x) {
    const auto f16 = [](std::uint32_t pair) { return std::bit_cast<std::uint32_t>(halves<In>(pair)); };
    const std::uint32_t a[4] = {f16(pairs[0]), f16(pairs[1]), f16(pairs[2]), f16(pairs[3])};
    const std::uint32_t b[2] = {f16(x), f16(x >> 16)};
    isa::mma<__half>(sums, a, b);
  }

  /// K is contiguous: words of two lines.
  __device__ void multiply_lines_by_mma(const Step<S>& step, const RawVectors<S>& vectors, int p,
                                        typename S::Sums& sums) const {
#pragma unroll
    for (int l = 0; l < S::loads; ++l) {
      std::uint32_t x[S::width / 4];
      read_vectors(x, vectors, p + in_step_ + l * S::lanes * S::width);
#pragma unroll
      for (int w = 0; w < S::width / 4; ++w)
#pragma unroll
        for (int c = 0; c < S::columns; c += 2) {
          const std::uint32_t first = step.at[c][l].word[w], second = step.at[c + 1][l].word[w];
          multiply_by_mma(sums[c / 2], {first, second, first >> 16, second >> 16}, x[w]);
        }
    }
  }

  /// N is contiguous: words of two columns, of four lines.
  __device__ void multiply_columns_by_mma(const Step<S>& step, const RawVectors<S>& vectors, int p,
                                          typename S::Sums& sums) const {
    std::uint32_t x[S::lines / 4];
    read_vectors(x, vectors, p + in_step_);
#pragma unroll
    for (int line = 0; line < S::lines; line += 4)
#pragma unroll
      for (int c = 0; c < S::columns; c += 2) {
        const auto both = [&](int i) {  // of two lines: one column's elements, and the other's
          return __byte_perm(step.at[line + i][0].word[c / 4], step.at[line + i + 1][0].word[c / 4],
                             c % 4 == 0 ? 0x5140 : 0x7362);
        };
        const std::uint32_t now = both(0), next = both(2);
        multiply_by_mma(sums[c / 2], {now, now >> 16, next, next >> 16}, x[line / 4]);
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
    return Loaded<In, S::width>::read_from_to(from, begin, end);
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
