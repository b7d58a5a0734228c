// SPDX-License-Identifier: Apache-2.0
/// \file
/// What of a certified product sizes settle: panels, sums and marks in the workspace.
#pragma once

#include "cuda/kernel.hpp"
#include "cuda/kernels/certified/parameters.cuh"
#include "exactile/accuracy.hpp"

namespace exactile::cuda::certified {

/// What a block knows of a lane.
inline constexpr std::int64_t measured_bytes = 24;

/// One operand's part of the workspace, in bytes from its beginning.
struct PanelPlan {
  std::int64_t lanes = 0;
  std::int64_t terms = 0;
  std::int64_t lane_stride = 0;
  std::int64_t term_stride = 0;
  std::int64_t product_elements = 0;
  std::int64_t matrices = 0;  ///< 1 where all products share one
  std::int64_t slices = 0;    ///< of the terms, for a block each
  std::int64_t slice_terms = 0;
  std::int64_t elements = 0;
  std::int64_t lines = 0;
  std::int64_t measured = 0;
  std::int64_t copy = 0;  ///< the elements again as f32, a lane's terms side by side; 0: there is none
};

/// Of a group of products that are computed at once. `d` has C's rows contiguous, where C has a contiguous direction.
struct Plan {
  GemmDescription d = {};
  bool extracts = false;
  PanelPlan a = {};
  PanelPlan b = {};
  std::int64_t sums_pitch = 0;
  std::int64_t sums_elements = 0;  ///< of a product
  std::int64_t high = 0;
  std::int64_t low = 0;
  std::int64_t column_words = 0;
  std::int64_t doubts = 0;
  std::int64_t doubt_count = 0;
  std::int64_t inner = 0;  ///< workspace of the product of panels
  std::int64_t bytes = 0;  ///< of all but that one's
};

/// Words of 32 rows of a column of C.
[[nodiscard]] std::int64_t words_of(const Plan& plan);

[[nodiscard]] Plan plan_of(const GemmDescription& d, std::int64_t products, Accuracy accuracy);

/// The product of panels, where a kernel for f64 computes it.
[[nodiscard]] plan::Problem panel_problem(const Plan& plan, const plan::Problem& problem);

}  // namespace exactile::cuda::certified
