// SPDX-License-Identifier: Apache-2.0
/// \file Whose kernel a product gets.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "exactile/plan.hpp"

namespace exactile::cublas {

struct Choice {
  std::optional<Plan> plan;  ///< ours, where it keeps `standard` and is estimated to be faster
  std::string reason;        ///< why there is none
  /// It has run, so its kernels are loaded: only then may it be captured.
  mutable std::atomic<bool> has_run{false};
};

/// The process's choice for products of that description in a device's memory. The first of a description plans, which
/// may take a millisecond, and the first of all opens the library's CUDA module; some thousand are remembered. Any
/// thread may ask.
[[nodiscard]] std::shared_ptr<const Choice> choice_for(const GemmDescription& description, int device);

/// The choice if it was made before, else null: nothing is planned, and nothing opened.
[[nodiscard]] std::shared_ptr<const Choice> known_choice(const GemmDescription& description, int device);

}  // namespace exactile::cublas
