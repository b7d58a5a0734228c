// SPDX-License-Identifier: Apache-2.0
/// \file The commit that was built, from git at build time.
#pragma once

#include <string_view>

namespace exactile::program {

extern const std::string_view commit;  ///< its hash; empty outside a repository
extern const bool commit_is_edited;    ///< tracked files differ from it

}  // namespace exactile::program
