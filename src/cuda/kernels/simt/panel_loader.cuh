// SPDX-License-Identifier: Apache-2.0
/// \file
/// Moves panels of an operand from global to shared memory: Terms x Rows elements, a row of shared memory for each
/// term, converted to the type that sums. "Rows" are rows of A or columns of B. Terms beyond the last are zeros; rows
/// beyond the last are copies of the last, or zeros: their sums are never stored.
#pragma once

#include <cstddef>

#include "cuda/isa/copy_async.cuh"
#include "cuda/tile/types.cuh"

namespace exactile::cuda::simt {

/// In which direction elements are contiguous; neighbouring threads lie in that direction. Vectors: along rows, 16
/// bytes at once; all rows and strides are whole numbers of them.
enum class Walk { along_terms, along_rows, vectors, any_strides };

/// An operand as the loaders see it: element (row, term) is data[row * row_stride + term * term_stride].
template <class T>
struct Panels {
  const T* data;
  std::int64_t row_stride;
  std::int64_t term_stride;
  std::int64_t rows;   ///< valid ones from `data` on
  std::int64_t terms;  ///< valid ones from `data` on
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <class In>
inline constexpr bool copies_async = sizeof(In) >= 4;
#else
template <class In>
inline constexpr bool copies_async = false;
#endif

template <class In, int Rows, int Terms, int Threads, Walk walk>
class PanelLoader {
 public:
  using Sum = DeviceSum<In>;
  static constexpr int vector = 16 / sizeof(Sum);
  static constexpr bool is_along_rows = walk == Walk::along_rows || walk == Walk::vectors;
  /// Where neighbouring threads write one column of shared memory, its rows begin in different banks.
  static constexpr int pitch = Rows + (is_along_rows ? 0 : vector);
  static constexpr int elements = Terms * pitch;

  __device__ PanelLoader(const Panels<In>& panels, int thread)
      : row_stride_(panels.row_stride), term_stride_(panels.term_stride), step_(term_step * term_stride() * element) {
    term_ = is_along_rows ? thread / lanes : thread % lanes;
    row_ = (is_along_rows ? thread % lanes : thread / lanes) * at_once;
    const std::int64_t last = panels.rows - at_once;
#pragma unroll
    for (int i = 0; i < row_passes; ++i) {
      const std::int64_t row = min(static_cast<std::int64_t>(row_ + i * row_step), last);
      from_[i] = reinterpret_cast<const std::byte*>(panels.data + row * row_stride() + term_ * term_stride());
    }
    place_ = term_ * pitch + row_;
    asm volatile("" : "+r"(place_));  // to be kept, not computed for each panel
  }

  /// Starts to move the next panel, of which the first `terms` terms are valid (or all, or none), into `slot`; what
  /// passes registers arrives there with deposit() only. Without branches, so that arithmetic can be scheduled around
  /// it.
  __device__ void fetch(Sum* slot, int terms) {
#pragma unroll
    for (int i = 0; i < row_passes; ++i) {
#pragma unroll
      for (int j = 0; j < term_passes; ++j) {
        const bool valid = term_ + j * term_step < terms;
        if (in_panel(i, j)) {
          if constexpr (copies_async<In>) {
            isa::copy_async<at_once * sizeof(In)>(slot + place(i, j), from_[i], valid ? at_once * sizeof(In) : 0);
          } else {
            held_[i * term_passes + j] = valid ? widen(*reinterpret_cast<const In*>(from_[i])) : Sum{};
          }
        }
        from_[i] += step_;
      }
      if constexpr (Terms % term_step != 0) from_[i] += (Terms - term_passes * term_step) * term_stride() * element;
    }
  }

  __device__ void deposit(Sum* slot) const {
    if constexpr (!copies_async<In>)
#pragma unroll
      for (int i = 0; i < row_passes; ++i)
#pragma unroll
        for (int j = 0; j < term_passes; ++j)
          if (in_panel(i, j)) slot[place(i, j)] = held_[i * term_passes + j];
  }

 private:
  static constexpr auto element = static_cast<std::int64_t>(sizeof(In));
  static constexpr int at_once =
      walk == Walk::vectors && copies_async<In> && Rows >= vector ? vector : 1;  ///< elements of a copy
  static constexpr int lanes_along_rows = Rows / at_once < Threads ? Rows / at_once : Threads;
  static constexpr int lanes = is_along_rows ? lanes_along_rows : (Terms < 8 ? Terms : 8);
  static constexpr int others = Threads / lanes;  ///< threads across the walk
  static constexpr int row_step = is_along_rows ? lanes * at_once : others;
  static constexpr int term_step = is_along_rows ? others : lanes;
  static constexpr int row_passes = (Rows - 1) / row_step + 1;
  static constexpr int term_passes = (Terms - 1) / term_step + 1;
  static_assert(Threads % lanes == 0 && Rows % at_once == 0);

  [[nodiscard]] __device__ std::int64_t row_stride() const { return is_along_rows ? 1 : row_stride_; }
  [[nodiscard]] __device__ std::int64_t term_stride() const { return walk == Walk::along_terms ? 1 : term_stride_; }

  [[nodiscard]] __device__ bool in_panel(int i, int j) const {
    return (Rows % row_step == 0 || row_ + i * row_step < Rows) &&
           (Terms % term_step == 0 || term_ + j * term_step < Terms);
  }
  [[nodiscard]] __device__ int place(int i, int j) const { return place_ + j * term_step * pitch + i * row_step; }

  std::int64_t row_stride_;
  std::int64_t term_stride_;
  std::int64_t step_;  ///< bytes from a thread's term to its next one
  const std::byte* from_[row_passes];
  int row_;
  int term_;
  int place_;  ///< of the thread's first element in a panel
  Sum held_[copies_async<In> ? 1 : row_passes * term_passes];
};

}  // namespace exactile::cuda::simt
