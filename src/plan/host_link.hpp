// SPDX-License-Identifier: Apache-2.0
/// \file
/// Round figures of what lies between host memory and a device; docs/measurements/2026-11-21-h200-host-to-host.md has
/// the measurements. They rank; nothing measured is derived from them.
#pragma once

namespace exactile::plan {

inline constexpr double link_bytes_per_second = 4e10;         ///< a PCIe 5 link, through pinned memory
inline constexpr double round_trip_seconds = 3e-5;            ///< upload, launch and download of next to nothing
inline constexpr double copy_bytes_per_second = 7e9;          ///< one thread between pageable and pinned memory
inline constexpr double bytes_worth_a_copy_thread = 2 << 20;  ///< staging takes a thread more for so many bytes

}  // namespace exactile::plan
