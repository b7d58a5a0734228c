// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the producer warps fill the pipeline where A is expanded: each complex number becomes two rows by two terms
/// (fragments.cuh). Made in registers by the warps that multiply, these take the compiler six moves an instruction.
/// T is the kernel's tile.
#pragma once

#include "cuda/kernels/dmma/sm90_copy.cuh"

namespace exactile::cuda::dmma {

/// All stages of all work tiles of this block, one by one.
template <class T>
class StageWalk {
 public:
  __device__ explicit StageWalk(const Parameters& w) : w_(w), index_(blockIdx.x) { enter(); }
  [[nodiscard]] __device__ bool ended() const { return index_ >= w_.work_tiles; }
  [[nodiscard]] __device__ const WorkTile& tile() const { return tile_; }
  [[nodiscard]] __device__ std::uint32_t k() const { return k_; }
  /// Whether the next stage is another tile's.
  __device__ bool next() {
    k_ += T::stage_k;
    if (k_ < end_) return false;
    index_ += gridDim.x;
    enter();
    return true;
  }

 private:
  __device__ void enter() {
    if (ended()) return;
    tile_ = work_tile_at<T::bm, T::bn, T::band>(w_, index_);
    k_ = static_cast<std::uint32_t>(k_at(w_, tile_.first_chunk));
    end_ = static_cast<std::uint32_t>(k_at(w_, tile_.end_chunk));
  }

  const Parameters& w_;
  WorkTile tile_;
  std::uint32_t k_ = 0;  ///< below 2^31, as complex products' is
  std::uint32_t end_ = 0;
  std::uint32_t index_;
};

/// One of the producers' threads, which together make A's side of stages. It reads its numbers of a stage, those of one
/// row, while those of the stage before wait for their turn.
template <class T>
class Expander {
 public:
  __device__ explicit Expander(const Parameters& w)
      : w_(w), walk_(w), offset_(stage_offset<Side::a>(2 * row(), 2 * first_term())) {
    constexpr std::uint32_t sign = 0x80000000;
    const bool conjugates = w.a.layout.conjugate, conjugates_other = w.b.layout.conjugate;
    signs_[0] = conjugates ? sign : 0;
    signs_[1] = conjugates == conjugates_other ? sign : 0;
    signs_[2] = conjugates_other ? sign : 0;
    enter();
    load();
  }

  /// Stores what it has read, and begins to read the numbers of the next stage.
  __device__ void fill(char* stage) {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const double2 z = numbers_[i];
      // Two terms further are four lines, on which chunks lie four places away; the next line's lie one away.
      const std::uint32_t flips = i % 2 * 64;
      char* const lines = stage + i * 4 * line_bytes;
      *reinterpret_cast<double2*>(lines + (offset_ ^ flips)) = make_double2(z.x, with_sign(z.y, signs_[0]));
      *reinterpret_cast<double2*>(lines + (offset_ ^ flips ^ 16) + line_bytes) =
          make_double2(with_sign(z.y, signs_[1]), with_sign(z.x, signs_[2]));
    }
    if (walk_.next()) enter();
    load();
  }

 private:
  static constexpr int rows = T::bm / 2;  ///< of complex numbers
  static constexpr int term_step = 2;
  static constexpr int terms = T::stage_k / 2;
  static constexpr int loads = terms / term_step;
  static_assert(T::producer_threads == rows * term_step && T::depth == 1);

  [[nodiscard]] static __device__ int row() { return static_cast<int>(threadIdx.x) % rows; }
  [[nodiscard]] static __device__ int first_term() { return static_cast<int>(threadIdx.x) / rows; }
  [[nodiscard]] static __device__ double with_sign(double x, std::uint32_t sign) {
    return __hiloint2double(__double2hiint(x) ^ static_cast<int>(sign), __double2loint(x));
  }

  __device__ void enter() {
    if (walk_.ended()) return;
    const WorkTile& tile = walk_.tile();
    const std::int64_t term = walk_.k() / 2 + first_term();
    from_ = w_.a.product(tile.product) + tile.row + 2 * row() + term * w_.a.k_stride;
    terms_left_ = tile.row + 2 * row() < w_.m ? static_cast<int>(w_.k / 2 - term) : 0;
  }
  __device__ void load() {
    if (walk_.ended()) return;
    const double* from = from_;
#pragma unroll
    for (int i = 0; i < loads; ++i, from += term_step * w_.a.k_stride)
      numbers_[i] = i * term_step < terms_left_ ? __ldcg(reinterpret_cast<const double2*>(from)) : make_double2(0, 0);
    from_ = from;
    terms_left_ -= terms;
  }

  const Parameters& w_;
  StageWalk<T> walk_;
  const double* from_ = nullptr;  ///< the next number
  double2 numbers_[loads];
  std::uint32_t offset_;  ///< of the first number's first chunk
  std::uint32_t signs_[3];
  int terms_left_ = 0;  ///< from the next number on
};

/// The producer warps. Of B, TMA moves what it reaches.
template <class T>
__device__ void expand_operands(const Parameters& w, const Boxes& boxes, char* stages, std::uint64_t* full,
                                std::uint64_t* empty) {
  Expander<T> a(w);
  Filler<Side::b, T::bn> b(w.b, threadIdx.x);
  PipelineState state;
  bool enters = true;
  for (StageWalk<T> walk(w); !walk.ended(); enters = walk.next()) {
    const WorkTile& tile = walk.tile();
    if (enters && !boxes.has_b) b.start(tile.product, tile.column, w.n, walk.k(), w.k);
    isa::mbarrier_wait(empty + state.stage, state.parity ^ 1);
    char* const stage = stages + state.stage * T::stage_bytes;
    std::uint64_t* const filled = full + state.stage;
    if (!boxes.has_b) {
      b.fill(stage + T::a_bytes);
      isa::mbarrier_arrive_after_copies(filled);
    } else if (threadIdx.x == 0) {
      copy_boxes<T>(boxes, tile, static_cast<int>(walk.k()), stage, filled);
    }
    a.fill(stage);
    isa::mbarrier_arrive(filled);
    state.next<T::stages>();
  }
}

}  // namespace exactile::cuda::dmma
