// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/choice.hpp"

namespace exactile::plan {

/// All that distinguishes a problem from others of its types, for the user's file.
[[nodiscard]] std::string product_text(const Problem& problem);

/// "" where the backend has no device of that index.
[[nodiscard]] std::string device_name(const BackendEntry& backend, int device);

}  // namespace exactile::plan
