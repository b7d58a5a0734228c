// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a product can be computed with.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace exactile {

/// The backends that the library has. Which of them can be used here, and why another cannot: devices().
enum class Backend : std::uint8_t {
  automatic,  ///< what EXACTILE_BACKEND names; where it names nothing, the planner chooses
  cpu,
  cuda,
  opencl,
};

/// "automatic", "cpu", "cuda", "opencl": for printing and for settings that people type.
[[nodiscard]] std::string_view to_string(Backend backend) noexcept;
/// Reads what to_string() writes, and "auto".
[[nodiscard]] std::optional<Backend> parse_backend(std::string_view name) noexcept;

}  // namespace exactile
