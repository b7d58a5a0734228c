// SPDX-License-Identifier: Apache-2.0
/// \file Answers to a name that is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace exactile::core {

/// At most 64 bytes of a text that somebody else chose, and "..." where more was said.
[[nodiscard]] std::string shortened(std::string_view text);

/// "; near it: a, b or c": up to five names that begin with `asked`, or come from it by fewer edits than half of its
/// letters, the nearest first. "" where there is none.
[[nodiscard]] std::string nearest_names(std::string_view asked, std::span<const std::string_view> names);

}  // namespace exactile::core
