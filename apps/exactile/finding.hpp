// SPDX-License-Identifier: Apache-2.0
/// \file What `exactile doctor` finds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace exactile::program {

enum class State : std::uint8_t {
  found,
  limited,  ///< works, but something holds it back
  missing,
};

struct Finding {
  std::string topic = {};
  State state = State::found;
  std::string what = {};
  std::string why = {};
  std::string advice = {};
};
using Findings = std::vector<Finding>;

/// The library that answers to libblas.so.3.
void look_at_system_blas(Findings& findings);

/// The BLAS that a program, a running process (its number) or a Python package uses. Fails (bad usage) where there is
/// none of that name, (trouble) where it cannot be asked.
[[nodiscard]] Findings blas_of(const std::string& program);

}  // namespace exactile::program
