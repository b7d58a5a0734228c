// SPDX-License-Identifier: Apache-2.0
/// \file
/// THE cost model of the CUDA backend. One formula ranks all configurations of all kernels:
///
///     seconds = launch + max(C, M) + overlap * min(C, M) + S
///     C = (waves + head) * tile + (turns + head) * steps * step          what SMs compute
///     M = missed * bytes / (share * bandwidth)               what device memory moves meanwhile; missed is 1/2 up to
///                                                            half of L2, and 1 from all of it on
///     S = side_kernels * side_launch + copied_bytes / (copy_share * bandwidth)
///                                    + turned_bytes / (turn_share * bandwidth)
///
/// but at least (1 + side_kernels) * host_launch where there are side kernels: a program enqueues each. Products are
/// measured and coefficients fitted in graphs, without that; one launch is all ways' least.
///
/// A family counts the Demand of a configuration; the rest are coefficients that `exactile tune --backend cuda`
/// measures: three for each configuration and way that operands lie (Rates), seven for each device (Overheads). waves
/// is tiles / slots rounded up, turns is tiles / (slots / ctas) rounded up: how many K-steps of CTAs that share an SM
/// take turns there. With stream-K, whose SMs all have as much to do, nothing is rounded. head is the latency that CTAs
/// hide from one another where several share an SM: the first takes longer than its share. On a device without
/// coefficients those of the nearest one are taken, its times per SM scaled by the clock; everything else follows from
/// the number of SMs and the bandwidth.
#pragma once

#include "cuda/device.hpp"
#include "cuda/model/demand.hpp"

namespace exactile::cuda {

/// Of one configuration and path, in seconds.
struct Rates {
  double step = 0;  ///< of a K-step, on every SM at once (in every slot where demand counts one CTA an SM)
  double tile = 0;  ///< of a work tile beside its K-steps: fill, epilogue
  double head = 0;  ///< in work tiles
};

/// Of one device.
struct Overheads {
  double launch = 0;       ///< seconds
  double side_launch = 0;  ///< seconds
  double overlap = 0;      ///< how much of the shorter of computing and moving is not hidden
  double share = 1;        ///< of the bandwidth, while tiles are computed
  double copy_share = 1;
  double turn_share = 1;
  double host_launch = 0;  ///< seconds that a program takes to enqueue a kernel; measured by itself, not fitted
};

/// Of so many calls one finds its operands in memory and the other in L2, as far as that holds them (in two parts,
/// which may both keep what they read): programs do both, and what is good for one is rarely bad for the other.
inline constexpr int calls_of_operands = 2;

/// In a graph, whose launches the host has made before.
[[nodiscard]] double seconds(const Demand& demand, const Rates& rates, const Overheads& overheads,
                             const Device& device);

/// What a program takes at least that enqueues so many launches.
[[nodiscard]] constexpr double host_seconds(int launches, const Overheads& overheads) {
  return launches == 1 ? 0 : launches * overheads.host_launch;
}

}  // namespace exactile::cuda
