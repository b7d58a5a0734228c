// SPDX-License-Identifier: Apache-2.0
/// \file
/// The steps of a certified product, each enqueued on a stream: operands to panels, panels to sums, sums to C.
#pragma once

#include "cuda/kernel.hpp"
#include "cuda/kernels/certified/layout.hpp"

namespace exactile::cuda::certified {

inline constexpr const char* kernel_name = "cuda_certified";

/// Where a group's panels, sums and marks lie, and what the caller gave. `arguments` are those of plan.d.
struct Stage {
  const Plan& plan;
  const Device& device;
  const GemmArguments& arguments;
  core::Trust trust;
  char* workspace;
  cudaStream_t stream;

  [[nodiscard]] Panel panel(const PanelPlan& p) const;
  [[nodiscard]] Sums sums() const;
};

/// A and B as f64, and their lines where sums are certified.
[[nodiscard]] Status widen(const Stage& stage);
/// Sums of f64 in two parts.
[[nodiscard]] Status extract(const Stage& stage);
/// C where it is certain, then the rest.
[[nodiscard]] Status finish(const Stage& stage);

}  // namespace exactile::cuda::certified
