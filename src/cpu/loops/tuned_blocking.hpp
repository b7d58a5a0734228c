// SPDX-License-Identifier: Apache-2.0
/// \file Cache blocks that were asked for or measured by `exactile tune`, in place of those that blocking_for() models.
#pragma once

#include <cstdint>
#include <string_view>

#include "cpu/loops/blocking.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// What blocking_for() makes of a product, and what bounds a choice in its place.
struct BlockingModel {
  Blocking blocking;
  std::int64_t chunk;  ///< KC stays a multiple of it, so that the bits of a result do not depend on the choice
  bool a_is_packed;
};

/// The problem's parameters, or else the best measured ones of `kernel`, or else the model's.
[[nodiscard]] Blocking tuned_blocking(std::string_view kernel, const plan::Problem& problem,
                                      const BlockingModel& model);

/// Why the problem's parameters cannot be had; empty if they can. Asked only where there are some.
[[nodiscard]] std::string_view why_illegal_blocking(const plan::Problem& problem, const BlockingModel& model);

/// What can be tuned, for tiles of rows x columns.
[[nodiscard]] TuningTarget blocking_target(int rows, int columns, std::int64_t chunk);

}  // namespace exactile::cpu
