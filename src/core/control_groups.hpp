// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace exactile::core {

/// What a control group's folder says of some limit, in any unit; infinity where it sets none.
using GroupLimit = double (*)(const std::string& folder);

/// The least of that over this process's groups and their ancestors, whose limits hold for it too: the groups of
/// version 2, and those of version 1 that `controller` ("cpu", "memory") counts. Infinity where nothing can be read.
[[nodiscard]] double least_group_limit(std::string_view controller, GroupLimit of_version_2, GroupLimit of_version_1);

}  // namespace exactile::core
