// SPDX-License-Identifier: Apache-2.0
/// \file Settings from the environment.
#pragma once

#include <string>
#include <vector>

namespace exactile {

/// What EXACTILE_MAX_ISA and EXACTILE_NUM_THREADS say that means nothing, a sentence each. Such values are passed over
/// as if they were not set. Reads the environment: not beside a thread that changes it.
[[nodiscard]] std::vector<std::string> ignored_settings();

}  // namespace exactile
