// SPDX-License-Identifier: Apache-2.0
/// \file
/// The store of a tile while the next one is multiplied. The staging holds half of a wide tile in 16 bits. The other
/// half waits in registers, packed, and follows when TMA has read the first; so the tensor cores wait for neither.
#pragma once

#include "cuda/isa/here.cuh"
#include "cuda/kernels/sm90/narrow/store_boxes.cuh"

namespace exactile::cuda::sm90::narrow {

/// Whether the registers hold the half of a tile beside the sums of the next.
template <class T>
inline constexpr bool stores_late = T::depth == 1 && T::tile_n == 256 && sizeof(typename T::Element) == 2;

/// A warp's part of a tile on its way out, by boxes, in 16 bits. T: what is stored of it.
template <class T, bool is_used>
class LateStore {
 public:
  static constexpr bool is_late = is_used;

  /// Takes the sums of a tile; they may change afterwards.
  __device__ void begin(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                        Staging (&staging)[2], const SumPlace& at) {
    isa::tma_store_wait_read<0>();
    __syncwarp();
    stage_piece<T, 2>(sums, c, staging[0], at, 0);
    stage_piece<T, 2>(sums, c, staging[1], at, 1);
    pack_piece<T>(waiting_[0], sums, c, 2);
    pack_piece<T>(waiting_[1], sums, c, 3);
    row_ = at.row + 16 * at.warp;
    column_ = at.column;
    batch_ = at.batch;
    is_begun_ = true;
  }
  /// The first half leaves.
  __device__ void send_first(const CUtensorMap* map, Staging (&staging)[2], int warp) const {
    if (is_begun_) send(map, staging, warp, 0);
  }
  /// And the second.
  __device__ void send_second(const CUtensorMap* map, Staging (&staging)[2], int warp) {
    if (!is_begun_) return;
    isa::tma_store_wait_read<0>();
    __syncwarp();
    const int lane = isa::thread_here() % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) stage_pairs<T>(waiting_[half], staging[half], warp, lane);
    send(map, staging, warp, 2);
    is_begun_ = false;
  }

 private:
  __device__ void send(const CUtensorMap* map, Staging (&staging)[2], int warp, int first_piece) const {
    isa::async_proxy_fence();
    __syncwarp();
    if (!isa::elect_one()) return;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      isa::tma_store(map, column_ + (first_piece + half) * Pieces<T, 2>::columns, row_, batch_,
                     staging[half].at(16 * warp, 0));
    isa::tma_store_commit();
  }

  PiecePairs<T> waiting_[2];
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

}  // namespace exactile::cuda::sm90::narrow
