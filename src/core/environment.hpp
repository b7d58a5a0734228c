// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace exactile::core {

/// The variable's value; nothing where it is unset or empty, or where the program has more rights than its user
/// (set-uid).
[[nodiscard]] std::optional<std::string_view> environment(const char* name) noexcept;

/// The variable as a whole number from 1 to `most`; nothing where it is unset or says anything else. Of a list ("4,2",
/// as OMP_NUM_THREADS may hold) the first number counts.
[[nodiscard]] std::optional<int> environment_count(const char* name, int most) noexcept;

/// The variable as a number of bytes: "4096", "512M", "8G" (powers of 1024); nothing where it says anything else.
[[nodiscard]] std::optional<std::int64_t> environment_bytes(const char* name) noexcept;

/// $XDG_CACHE_HOME/exactile or ~/.cache/exactile; nothing where neither variable is set. As the XDG Base Directory
/// Specification asks, a path that is not absolute counts for nothing.
[[nodiscard]] std::optional<std::string> cache_folder();

}  // namespace exactile::core
