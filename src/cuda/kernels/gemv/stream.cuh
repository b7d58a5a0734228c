// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a CTA multiplies: its slice of the vectors in shared memory, its part of the matrix step by step in registers.
#pragma once

#include <algorithm>

#include "cuda/kernels/gemv/division.hpp"
#include "cuda/tile/types.cuh"

namespace exactile::cuda::gemv_family {

/// An instance. `alignment`: bytes at whose multiples W's lines begin, and which are loaded at a time, or an element.
template <class InT, int Rows, Contiguous where, int alignment>
struct Shape {
  using In = InT;
  using Accumulator = DeviceAccumulator<In>;
  static constexpr int size = static_cast<int>(sizeof(In));
  static constexpr int rows = Rows;
  static constexpr bool along_k = where == Contiguous::k;
  /// Elements of a load.
  static constexpr int width = std::clamp(alignment / size, 1, along_k ? 16 : most_elements_of_lane);
  /// Loads that give a lane what one would where W is aligned.
  static constexpr int loads = std::max(1, std::min(most_elements_of_lane, 16 / size) / width);
  static constexpr int columns = along_k ? columns_of_warp : loads * width;  ///< of a lane
  /// Columns of W, or rows of it, in a warp's step: 64 bytes of a lane where N is contiguous.
  static constexpr int lines = along_k ? columns : 64 / (columns * size);
  static constexpr int tile_columns = along_k ? warps * columns : 32 * columns;
  static constexpr int step = along_k ? 32 * loads * width : warps * lines;  ///< of K, of a CTA
  /// Of K, kept in shared memory at a time.
  static constexpr int chunk = std::min(2048, 16384 / (rows * static_cast<int>(sizeof(Accumulator))));
  static constexpr int bytes_of_sums = rows * columns * static_cast<int>(sizeof(Accumulator));  ///< of a lane
  static constexpr int ctas_per_sm = ctas_of_sm(bytes_of_sums);
  /// The vectors in shared memory. 8-bit integers stay as they are, so that four of them are multiplied at a time.
  using Kept = std::conditional_t<std::is_same_v<In, std::int8_t>, In, Accumulator>;
  static constexpr bool multiplies_fours = std::is_same_v<In, std::int8_t> && (width > 1 || !along_k);
  static_assert(chunk % step == 0 && slice_step(where, size) % step == 0);
};

template <class T, int width>
struct alignas(width * sizeof(T)) Vector {
  T at[width];
};

/// `width` neighbours, or one element; those from `valid` on are 0. `full`: all are valid.
template <int width, bool full, class In>
[[nodiscard]] __device__ inline Vector<In, width> load(const In* from, std::int64_t valid) {
  if constexpr (full) return *reinterpret_cast<const Vector<In, width>*>(from);
  Vector<In, width> x{};
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (e < valid) x.at[e] = from[e];
  return x;
}

template <class To, class From>
[[nodiscard]] __device__ inline To as(From x) {
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else {
    return widen(x);
  }
}

/// The vectors: elements of each row from k on, 0 where there are none.
template <class S>
class Vectors {
 public:
  using Kept = typename S::Kept;
  /// Elements that a lane reads at a time: where K is contiguous those of a load from W or half of them, else those
  /// that meet its lines of W.
  static constexpr int width =
      std::min(S::along_k ? S::width : S::lines, std::max(1, 16 / static_cast<int>(sizeof(Kept))));
  using Read = Vector<Kept, width>;

  __device__ explicit Vectors(Kept* shared) : shared_(shared) {}

  template <class In>
  __device__ void fill(const In* a, const OperandLayout& layout, std::int64_t m, std::int64_t k, std::int64_t k_end) {
    const auto count =
        static_cast<int>(min(static_cast<std::int64_t>(S::chunk), k_end - k + S::step - 1)) / S::step * S::step;
#pragma unroll
    for (int r = 0; r < S::rows; ++r)
#pragma unroll 4
      for (int p = static_cast<int>(threadIdx.x); p < count; p += threads)
        shared_[r * S::chunk + place(p)] =
            r < m && k + p < k_end ? as<Kept>(a[r * layout.row_stride + (k + p) * layout.column_stride]) : Kept{};
  }

  /// Part `part` of what meets the lane's load that begins at `load` for lane 0; or, where N is contiguous, of what
  /// meets lines from `load` on.
  [[nodiscard]] __device__ Read read(int r, int load, int part) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int at = S::along_k ? (part * 32 + lane) * width : part * width;
    return *reinterpret_cast<const Read*>(shared_ + r * S::chunk + load + at);
  }

 private:
  /// Where K is contiguous, what lanes read at the same time lies side by side.
  static __device__ int place(int p) {
    if constexpr (!S::along_k || S::width == width) return p;
    constexpr int group = 32 * S::width;
    const int in_group = p % group, lane = in_group / S::width, e = in_group % S::width;
    return p - in_group + (e / width * 32 + lane) * width + e % width;
  }

  Kept* shared_;
};

/// What a lane holds of W for a step: of each column, or of each line, some loads.
template <class S>
struct Step {
  Vector<typename S::In, S::width> at[S::lines][S::loads];
};

/// A CTA's part of W.
template <class S>
class Stream {
 public:
  using In = typename S::In;
  using Accumulator = typename S::Accumulator;

  __device__ Stream(const GemmDescription& d, const In* w, std::int64_t column, std::int64_t k_end)
      : k_stride_(d.b.row_stride), n_stride_(d.b.column_stride), k_end_(k_end) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t first = column + (S::along_k ? warp * S::columns : lane * S::width);
    in_step_ = S::along_k ? lane * S::width : warp * S::lines;
    w_ = w + first * n_stride_ + in_step_ * k_stride_;
    columns_ = d.n - first;
    has_all_columns_ = S::along_k ? columns_ >= S::columns : column + S::tile_columns <= d.n;
  }

  __device__ void load_step(Step<S>& to, std::int64_t k) const {
    if (has_all_columns_ && k + S::step <= k_end_) {
      load_step<true>(to, k);
    } else {
      load_step<false>(to, k);
    }
  }

  /// `p`: where the step begins in the vectors.
  __device__ void multiply(const Step<S>& step, const Vectors<S>& vectors, int p,
                           Accumulator (&sums)[S::rows][S::columns]) const {
    constexpr int width = Vectors<S>::width;
    if constexpr (S::multiplies_fours) {
      multiply_fours(step, vectors, p, sums);
    } else if constexpr (S::along_k) {
#pragma unroll
      for (int l = 0; l < S::loads; ++l)
#pragma unroll
        for (int part = 0; part < S::width / width; ++part)
#pragma unroll
          for (int r = 0; r < S::rows; ++r) {
            const auto x = vectors.read(r, p + l * 32 * S::width, part);
#pragma unroll
            for (int e = 0; e < width; ++e)
#pragma unroll
              for (int c = 0; c < S::columns; ++c)
                sums[r][c] =
                    multiply_add(as<Accumulator>(x.at[e]), widen(step.at[c][l].at[part * width + e]), sums[r][c]);
          }
    } else {
#pragma unroll
      for (int part = 0; part < S::lines / width; ++part)
#pragma unroll
        for (int r = 0; r < S::rows; ++r) {
          const auto x = vectors.read(r, p + in_step_, part);
#pragma unroll
          for (int i = 0; i < width; ++i)
#pragma unroll
            for (int c = 0; c < S::columns; ++c)
              sums[r][c] = multiply_add(as<Accumulator>(x.at[i]),
                                        widen(step.at[part * width + i][c / S::width].at[c % S::width]), sums[r][c]);
        }
    }
  }

 private:
  /// Four 8-bit terms of a sum at a time.
  __device__ void multiply_fours(const Step<S>& step, const Vectors<S>& vectors, int p,
                                 Accumulator (&sums)[S::rows][S::columns]) const {
    constexpr int fours = (S::along_k ? S::loads * S::width : S::lines) / 4;
    constexpr int of_load = S::width / 4;  // words
    const auto words_of = [](const auto& vector) { return reinterpret_cast<const std::uint32_t*>(vector.at); };
    std::uint32_t w[fours][S::columns];  // [terms][column]
#pragma unroll
    for (int f = 0; f < fours; ++f) {
      if constexpr (S::along_k) {
#pragma unroll
        for (int c = 0; c < S::columns; ++c) w[f][c] = words_of(step.at[c][f / of_load])[f % of_load];
      } else if constexpr (S::width == 1) {
#pragma unroll
        for (int c = 0; c < S::columns; ++c) {
          const auto element = [&](int i) { return static_cast<std::uint32_t>(step.at[4 * f + i][c].at[0]); };
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
        const auto x = vectors.read(r, p + (S::along_k ? l * 32 * S::width : in_step_), 0);
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
        constexpr int apart = 32 * S::width;  // loads of a lane
        const std::int64_t left_of_k = k_end_ - k - in_step_;
        if constexpr (S::along_k) {
          to.at[i][l] = load<S::width, full>(w_ + i * n_stride_ + (k + l * apart) * k_stride_,
                                             i < columns_ ? left_of_k - l * apart : 0);
        } else {
          to.at[i][l] = load<S::width, full>(w_ + (k + i) * k_stride_ + l * apart * n_stride_,
                                             i < left_of_k ? columns_ - l * apart : 0);
        }
      }
  }

  const In* w_;
  std::int64_t k_stride_, n_stride_, k_end_, columns_;
  int in_step_;
  bool has_all_columns_;
};

}  // namespace exactile::cuda::gemv_family
