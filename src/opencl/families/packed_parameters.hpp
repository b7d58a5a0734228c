// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parameters of kernels/packed.cl, which of their combinations are legal, and what a search tries.
#pragma once

#include "core/checked.hpp"
#include "opencl/kernel.hpp"

namespace exactile::opencl {

struct PackedParameters {
  std::int64_t mwg, nwg, kwg;  ///< the work-group's tile of C and the terms it takes at a time
  std::int64_t mdimc, ndimc;   ///< work-items along the tile's rows and columns
  std::int64_t vwm, vwn;       ///< vector widths
  std::int64_t kwi;            ///< terms unrolled
  std::int64_t sa, sb;         ///< 1: that operand's tile lies in local memory

  [[nodiscard]] static PackedParameters from(const tuning::Parameters& parameters);
  [[nodiscard]] std::int64_t items() const { return mdimc * ndimc; }
  [[nodiscard]] std::int64_t sums_per_item() const { return (mwg / mdimc) * (nwg / ndimc); }
  [[nodiscard]] std::int64_t tiles(std::int64_t m, std::int64_t n) const {
    return core::ceil_divide(m, mwg) * core::ceil_divide(n, nwg);
  }
  [[nodiscard]] std::string options() const;  ///< "-D MWG=128 ..."
};

extern const Tunable packed_tunable;

}  // namespace exactile::opencl
