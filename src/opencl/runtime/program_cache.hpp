// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiled programs on disk, so that the second start of a process does not compile. A file holds its whole key, so a
/// wrong one is recognised; files that are truncated, foreign or from another driver are as good as none. The folder is
/// kept below 256 MiB, since a search for the best sizes compiles hundreds of programs that nobody needs again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace exactile::opencl {

/// The binary stored under `key` (any text: source, options, device, driver); nothing where there is none or the file
/// is not as it was written.
[[nodiscard]] std::optional<std::string> load_binary(std::string_view key);

/// Writes a file beside and renames it, so that a reader sees all or nothing. Where that fails there is no file. Makes
/// room for it by removing what has not been used for longest.
void store_binary(std::string_view key, std::string_view binary) noexcept;

/// Removes stored programs, those not used for longest first, until the rest is at most so large.
void remove_oldest_binaries(std::uintmax_t bytes_to_keep);

/// opencl/ in core::cache_folder(); empty where there is none.
[[nodiscard]] std::string binary_folder();

}  // namespace exactile::opencl
