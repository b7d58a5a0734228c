// SPDX-License-Identifier: Apache-2.0
/// \file Which sizes a tunable kernel runs with: the caller's, a measured row's, or the fallback's.
#pragma once

#include "opencl/kernel.hpp"

namespace exactile::opencl {

struct Choice {
  tuning::Parameters parameters;
  std::string source = {};  ///< where they come from; empty where there was nothing to choose

  [[nodiscard]] std::string source_text() const { return source.empty() ? "" : " (" + source + ")"; }
};

[[nodiscard]] Choice choose(std::string_view kernel, const Tunable& tunable, const plan::Problem& problem,
                            const Device& device);

/// Why there are no legal sizes; empty where there are.
[[nodiscard]] std::string_view why_no_choice(std::string_view kernel, const Tunable& tunable,
                                             const plan::Problem& problem, const Device& device);

}  // namespace exactile::opencl
