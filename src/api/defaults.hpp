// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the environment and set_default_backend() say of calls that leave something open.
#pragma once

#include "exactile/plan.hpp"

namespace exactile::api {

inline constexpr int most_devices = 1023;

/// The options with the process's default backend, and its device, where they name neither backend nor kernel.
[[nodiscard]] GemmOptions with_defaults(GemmOptions options);

/// The device of a backend that is not named: EXACTILE_DEVICE, else 0.
[[nodiscard]] int default_device() noexcept;

}  // namespace exactile::api
