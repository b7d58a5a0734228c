// SPDX-License-Identifier: Apache-2.0
/// \file Settings of the process, and from the environment.
#pragma once

#include <string>
#include <vector>

#include "exactile/backend.hpp"

namespace exactile {

/// What the library's environment variables say that means nothing, a sentence each. Such values are passed over as if
/// they were not set. Reads the environment: not beside a thread that changes it.
[[nodiscard]] std::vector<std::string> ignored_settings();

/// What Backend::automatic stands for in calls that name no kernel: what set_default_backend() was given last, else
/// EXACTILE_BACKEND, else Backend::automatic, the planner's choice among all devices.
[[nodiscard]] Backend default_backend();

/// Counts for plans that are made from here on; what a thread remembers of its one-shot calls stays. Thread-safe.
void set_default_backend(Backend backend) noexcept;

}  // namespace exactile
