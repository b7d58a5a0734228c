// SPDX-License-Identifier: Apache-2.0
/// \file Cache blocks that were asked for or measured by `exactile tune`, in place of those that blocking_for() models.
#pragma once

#include <string_view>

#include "cpu/loops/blocking.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// The problem's parameters, or else the best measured ones of `kernel`, or else `model`. KC stays a multiple of
/// `chunk`, so that the bits of a result do not depend on the choice.
[[nodiscard]] Blocking tuned_blocking(std::string_view kernel, const plan::Problem& problem, const Blocking& model,
                                      std::int64_t chunk);

/// Why the problem's parameters cannot be had; empty if they can, or if there are none.
[[nodiscard]] std::string_view why_illegal_blocking(const plan::Problem& problem);

/// What can be tuned, for tiles of rows x columns.
[[nodiscard]] TuningTarget blocking_target(int rows, int columns, std::int64_t chunk);

}  // namespace exactile::cpu
