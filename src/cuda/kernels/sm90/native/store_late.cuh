// SPDX-License-Identifier: Apache-2.0
/// \file
/// The store of a tile while the next one is multiplied. The staging holds 128 columns of a wide tile in 16 bits. The
/// others wait in registers, packed, and follow when TMA has read the first; so the tensor cores wait for neither.
#pragma once

#include "cuda/isa/opaque.cuh"
#include "cuda/kernels/sm90/native/store_boxes.cuh"

namespace exactile::cuda::sm90::native {

/// Whether the registers hold the rest of a tile beside the sums of the next.
template <class T>
inline constexpr bool stores_late = T::cluster_k == 1 && T::tile_n >= 192 && sizeof(typename T::Element) == 2;

/// A warp's part of a tile on its way out, by boxes, in 16 bits. T: what is stored of it.
template <class T, bool is_used>
class LateStore {
 public:
  static constexpr bool is_late = is_used;

  /// Takes the sums of a tile; they may change afterwards.
  __device__ void begin(const typename T::Accumulator (&sums)[T::tile_n / 2], const Output<typename T::Accumulator>& c,
                        Staging (&staging)[2], const FragmentCoord& at) {
    isa::tma_store_wait_read<0>();
    __syncwarp();
#pragma unroll
    for (int piece = 0; piece < staged; ++piece) stage_piece<T, 2>(sums, c, staging[piece], at, piece);
#pragma unroll
    for (int piece = 0; piece < held; ++piece) pack_piece<T>(waiting_[piece], sums, c, staged + piece);
    row_ = at.box_row;
    column_ = at.column;
    batch_ = at.box_batch;
    is_begun_ = true;
  }
  /// What is staged leaves.
  __device__ void send_first(const CUtensorMap* map, Staging (&staging)[2], int warp) const {
    if (is_begun_) send<staged>(map, staging, warp, 0);
  }
  /// And the rest.
  __device__ void send_second(const CUtensorMap* map, Staging (&staging)[2], int warp) {
    if (!is_begun_) return;
    isa::tma_store_wait_read<0>();
    __syncwarp();
    const int lane = isa::opaque_thread() % 32;
#pragma unroll
    for (int piece = 0; piece < held; ++piece) stage_pairs<T>(waiting_[piece], staging[piece], warp, lane);
    send<held>(map, staging, warp, staged);
    is_begun_ = false;
  }

 private:
  static constexpr int staged = 2;                           ///< pieces at a time
  static constexpr int held = Pieces<T, 2>::count - staged;  ///< in registers

  template <int count>
  __device__ void send(const CUtensorMap* map, Staging (&staging)[2], int warp, int first_piece) const {
    isa::async_proxy_fence();
    __syncwarp();
    if (!isa::elect_one()) return;
#pragma unroll
    for (int piece = 0; piece < count; ++piece)
      isa::tma_store(map, column_ + (first_piece + piece) * Pieces<T, 2>::columns, row_, batch_,
                     staging[piece].at(16 * warp, 0));
    isa::tma_store_commit();
  }

  PiecePairs<T> waiting_[held];
  int row_;
  int column_;
  int batch_;
  bool is_begun_ = false;
};

/// Of a tile that is stored at once.
template <class T>
class LateStore<T, false> {
 public:
  static constexpr bool is_late = false;
};

}  // namespace exactile::cuda::sm90::native
