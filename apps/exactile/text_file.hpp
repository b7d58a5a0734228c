// SPDX-License-Identifier: Apache-2.0
/// \file Files of text, read and written as a whole.
#pragma once

#include <string>
#include <string_view>

namespace exactile::program {

/// Throws Failure (bad input) where it cannot be read, or is larger than 64 MiB: no text that this program reads is.
[[nodiscard]] std::string read_text(const std::string& path);

/// Written beside what is there and then put in its place: an interruption leaves the old file. Throws Failure
/// (trouble).
void write_text(const std::string& path, std::string_view text);

}  // namespace exactile::program
