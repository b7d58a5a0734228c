// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a product asks of the device, as cost.hpp's formula counts it.
#pragma once

namespace exactile::cuda {

/// What a configuration asks of the device.
struct Demand {
  double tiles = 1;         ///< work tiles: CTAs' worth of work, of all products and slices of K
  double slots = 1;         ///< CTAs that the device runs at a time
  int ctas = 1;             ///< of these on an SM, whose K-steps take turns
  double steps = 1;         ///< K-steps of a work tile
  double bytes = 0;         ///< that device memory delivers and takes while tiles are computed, at least
  double copied_bytes = 0;  ///< read and written by kernels before and after, along contiguous rows
  double turned_bytes = 0;  ///< the same where rows become columns
  int side_kernels = 0;     ///< kernels beside the one that computes tiles
  int path = 0;             ///< how operands lie, 0 as the kernel likes it best, and what else has rates of its own
  int store = 0;            ///< how C is stored, 0 as the kernel likes it best: the time of a tile alone depends on it
  bool stream_k = false;    ///< all SMs have as much to do: waves are not rounded up
};

}  // namespace exactile::cuda
