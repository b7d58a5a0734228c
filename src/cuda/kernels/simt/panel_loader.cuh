// SPDX-License-Identifier: Apache-2.0
/// \file
/// Moves panels of an operand from global to shared memory: PanelK x Rows elements, a row of shared memory for each k,
/// converted to the type that sums. "Rows" are rows of A or columns of B. What lies beyond K is zeros; rows beyond the
/// last are copies of the last, or zeros: their sums are never stored.
#pragma once

#include <cstddef>

#include "cuda/isa/copy_async.cuh"
#include "cuda/tile/types.cuh"

namespace exactile::cuda::simt {

/// How elements are accessed; neighbouring threads lie in the direction in which elements are contiguous.
/// mn_major_vectors: 16 bytes at once; all rows and strides are whole numbers of them.
enum class AccessPattern { k_major, mn_major, mn_major_vectors, any_strides };

/// Calls visit.operator()<a, b>() with patterns that kernels are compiled for: vectors are given up where one of both
/// operands can only be read MN-major.
template <class Visit>
constexpr auto with_patterns(AccessPattern a, AccessPattern b, Visit visit) {
  using enum AccessPattern;
  if (a == any_strides || b == any_strides) return visit.template operator()<any_strides, any_strides>();
  if (a == k_major && b == k_major) return visit.template operator()<k_major, k_major>();
  if (a != mn_major && b != mn_major) {
    if (a == k_major) return visit.template operator()<k_major, mn_major_vectors>();
    return b == k_major ? visit.template operator()<mn_major_vectors, k_major>()
                        : visit.template operator()<mn_major_vectors, mn_major_vectors>();
  }
  if (a == k_major) return visit.template operator()<k_major, mn_major>();
  return b == k_major ? visit.template operator()<mn_major, k_major>()
                      : visit.template operator()<mn_major, mn_major>();
}

/// An operand as the loaders see it: element (row, k) is data[row * row_stride + k * k_stride].
template <class T>
struct Panels {
  const T* data;
  std::int64_t row_stride;
  std::int64_t k_stride;
  std::int64_t rows;  ///< valid ones from `data` on
  std::int64_t k;     ///< valid ones from `data` on
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <class In>
inline constexpr bool copies_async = sizeof(In) >= 4;
#else
template <class In>
inline constexpr bool copies_async = false;
#endif

template <class In, int Rows, int PanelK, int Threads, AccessPattern walk>
class PanelLoader {
 public:
  using Accumulator = DeviceAccumulator<In>;
  static constexpr int vector = 16 / sizeof(Accumulator);
  static constexpr bool is_mn_major = walk == AccessPattern::mn_major || walk == AccessPattern::mn_major_vectors;
  /// Where neighbouring threads write one column of shared memory, its rows begin in different banks.
  static constexpr int pitch = Rows + (is_mn_major ? 0 : vector);
  static constexpr int elements = PanelK * pitch;

  __device__ PanelLoader(const Panels<In>& panels, int thread)
      : row_stride_(panels.row_stride), k_stride_(panels.k_stride), step_(k_step * k_stride() * element) {
    k_ = is_mn_major ? thread / lanes : thread % lanes;
    row_ = (is_mn_major ? thread % lanes : thread / lanes) * at_once;
    const std::int64_t last = panels.rows - at_once;
#pragma unroll
    for (int i = 0; i < row_passes; ++i) {
      const std::int64_t row = min(static_cast<std::int64_t>(row_ + i * row_step), last);
      from_[i] = reinterpret_cast<const std::byte*>(panels.data + row * row_stride() + k_ * k_stride());
    }
    place_ = k_ * pitch + row_;
    asm volatile("" : "+r"(place_));  // to be kept, not computed for each panel
  }

  /// Starts to move the next panel, of which the first `valid_k` of K are valid (or all, or none), into `slot`; what
  /// passes registers arrives there with deposit() only. Without branches, so that arithmetic can be scheduled around
  /// it.
  __device__ void fetch(Accumulator* slot, int valid_k) {
#pragma unroll
    for (int i = 0; i < row_passes; ++i) {
#pragma unroll
      for (int j = 0; j < k_passes; ++j) {
        const bool valid = k_ + j * k_step < valid_k;
        if (in_panel(i, j)) {
          if constexpr (copies_async<In>) {
            isa::copy_async<at_once * sizeof(In)>(slot + place(i, j), from_[i], valid ? at_once * sizeof(In) : 0);
          } else {
            held_[i * k_passes + j] = valid ? widen(*reinterpret_cast<const In*>(from_[i])) : Accumulator{};
          }
        }
        from_[i] += step_;
      }
      if constexpr (PanelK % k_step != 0) from_[i] += (PanelK - k_passes * k_step) * k_stride() * element;
    }
  }

  /// Leaves out that many of K.
  __device__ void skip(int k) {
#pragma unroll
    for (int i = 0; i < row_passes; ++i) from_[i] += k * k_stride() * element;
  }

  __device__ void deposit(Accumulator* slot) const {
    if constexpr (!copies_async<In>)
#pragma unroll
      for (int i = 0; i < row_passes; ++i)
#pragma unroll
        for (int j = 0; j < k_passes; ++j)
          if (in_panel(i, j)) slot[place(i, j)] = held_[i * k_passes + j];
  }

 private:
  static constexpr auto element = static_cast<std::int64_t>(sizeof(In));
  static constexpr int at_once = walk == AccessPattern::mn_major_vectors && copies_async<In> && Rows >= vector
                                     ? vector
                                     : 1;  ///< elements of a copy
  static constexpr int lanes_along_mn = Rows / at_once < Threads ? Rows / at_once : Threads;
  static constexpr int lanes = is_mn_major ? lanes_along_mn : (PanelK < 8 ? PanelK : 8);
  static constexpr int others = Threads / lanes;  ///< threads across the walk
  static constexpr int row_step = is_mn_major ? lanes * at_once : others;
  static constexpr int k_step = is_mn_major ? others : lanes;
  static constexpr int row_passes = (Rows - 1) / row_step + 1;
  static constexpr int k_passes = (PanelK - 1) / k_step + 1;
  static_assert(Threads % lanes == 0 && Rows % at_once == 0);

  [[nodiscard]] __device__ std::int64_t row_stride() const { return is_mn_major ? 1 : row_stride_; }
  [[nodiscard]] __device__ std::int64_t k_stride() const { return walk == AccessPattern::k_major ? 1 : k_stride_; }

  [[nodiscard]] __device__ bool in_panel(int i, int j) const {
    return (Rows % row_step == 0 || row_ + i * row_step < Rows) && (PanelK % k_step == 0 || k_ + j * k_step < PanelK);
  }
  [[nodiscard]] __device__ int place(int i, int j) const { return place_ + j * k_step * pitch + i * row_step; }

  std::int64_t row_stride_;
  std::int64_t k_stride_;
  std::int64_t step_;  ///< bytes from a thread's term to its next one
  const std::byte* from_[row_passes];
  int row_;
  int k_;
  int place_;  ///< of the thread's first element in a panel
  Accumulator held_[copies_async<In> ? 1 : row_passes * k_passes];
};

}  // namespace exactile::cuda::simt
