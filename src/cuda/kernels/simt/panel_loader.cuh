// SPDX-License-Identifier: Apache-2.0
/// \file
/// Moves panels of an operand from global to shared memory: Terms x Rows elements, a row of shared memory for each
/// term, converted to the type that sums. "Rows" are rows of A or columns of B. Any strides; what lies outside is zero.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/tile/types.cuh"

namespace exactile::cuda::simt {

/// In which direction neighbouring threads lie, so that they read neighbouring memory.
enum class Walk { along_terms, along_rows };

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
  /// Where neighbouring threads write one column of shared memory, rows of it begin in different banks.
  static constexpr int pitch = Rows + (walk == Walk::along_terms ? vector : 0);
  static constexpr int elements = Terms * pitch;

  __device__ PanelLoader(const Panels<In>& panels, int thread)
      : term_stride_(panels.term_stride), terms_left_(panels.terms) {
    if constexpr (walk == Walk::along_rows && copies_async<In> && sizeof(In) < 16 && Rows >= vector)
      vectors_ = panels.row_stride == 1 && panels.term_stride % vector == 0 &&
                 reinterpret_cast<std::uintptr_t>(panels.data) % 16 == 0;
    if (vectors_) {
      term_ = thread / vector_lanes;
      row_ = thread % vector_lanes * vector;
    } else {
      term_ = walk == Walk::along_terms ? thread % lanes : thread / lanes;
      row_ = walk == Walk::along_terms ? thread / lanes : thread % lanes;
    }
    const std::int64_t last = panels.rows - 1;
#pragma unroll
    for (int i = 0; i < row_passes; ++i) {
      const std::int64_t row = min(static_cast<std::int64_t>(row_ + i * row_step), last);
      from_[i] = panels.data + row * panels.row_stride + term_ * panels.term_stride;
    }
    const std::int64_t left = panels.rows - row_;
    valid_rows_ = left < 0 ? 0 : left > vector ? vector : static_cast<int>(left);
  }

  /// Starts to move the next panel into `slot`; what passes registers arrives there with deposit() only.
  __device__ void fetch(Sum* slot) {
    const int terms = static_cast<int>(min(terms_left_, static_cast<std::int64_t>(Terms)));
    if constexpr (copies_async<In>) {
      if (vectors_) {
        copy_vectors(slot, terms);
      } else {
        for_each_element([&](int, int i, int j, const In* from, int place,
                             bool valid) { isa::copy_async<sizeof(In)>(slot + place, from, valid ? sizeof(In) : 0); },
                         terms);
      }
    } else {
      for_each_element(
          [&](int index, int, int, const In* from, int, bool valid) { held_[index] = valid ? widen(*from) : Sum{}; },
          terms);
    }
#pragma unroll
    for (int i = 0; i < row_passes; ++i) from_[i] += Terms * term_stride_;
    terms_left_ -= Terms;
  }

  __device__ void deposit(Sum* slot) const {
    if constexpr (!copies_async<In>)
      for_each_element([&](int index, int, int, const In*, int place, bool) { slot[place] = held_[index]; }, Terms);
  }

 private:
  static constexpr int lanes = walk == Walk::along_terms ? (Terms < 8 ? Terms : 8) : (Rows < Threads ? Rows : Threads);
  static constexpr int others = Threads / lanes;  ///< threads across the walk
  static constexpr int row_step = walk == Walk::along_terms ? others : lanes;
  static constexpr int term_step = walk == Walk::along_terms ? lanes : others;
  static constexpr int row_passes = (Rows - 1) / row_step + 1;
  static constexpr int term_passes = (Terms - 1) / term_step + 1;
  static constexpr int vector_lanes = Rows < vector ? 1 : Rows / vector;
  static constexpr int held = row_passes * term_passes;
  static_assert(Threads % lanes == 0 && Threads % vector_lanes == 0);

  template <class Visit>
  __device__ void for_each_element(Visit&& visit, int terms) const {
#pragma unroll
    for (int i = 0; i < row_passes; ++i) {
      const In* from = from_[i];
#pragma unroll
      for (int j = 0; j < term_passes; ++j) {
        const int row = row_ + i * row_step;
        const int term = term_ + j * term_step;
        const bool inside = (Rows % row_step == 0 || row < Rows) && (Terms % term_step == 0 || term < Terms);
        if (inside) visit(i * term_passes + j, i, j, from, term * pitch + row, term < terms);
        from += term_step * term_stride_;
      }
    }
  }

  __device__ void copy_vectors(Sum* slot, int terms) const {
    constexpr int step = Threads / vector_lanes;
    constexpr int passes = (Terms - 1) / step + 1;
    const In* from = from_[0];
#pragma unroll
    for (int j = 0; j < passes; ++j) {
      const int term = term_ + j * step;
      const int valid = term < terms ? valid_rows_ : 0;
      if (Terms % step == 0 || term < Terms)
        isa::copy_async<16>(slot + term * pitch + row_, from, valid * static_cast<int>(sizeof(In)));
      from += step * term_stride_;
    }
  }

  std::int64_t term_stride_;
  std::int64_t terms_left_;
  const In* from_[row_passes];
  int row_;
  int term_;
  int valid_rows_;
  bool vectors_ = false;
  Sum held_[copies_async<In> ? 1 : held];
};

}  // namespace exactile::cuda::simt
