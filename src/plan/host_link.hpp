// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace exactile::plan {

/// What lies between host memory and a device. The defaults are those of a host with a PCIe 5 link: what counts for a
/// device before `exactile tune` has measured its own, and before its driver is open.
struct HostLink {
  double bytes_per_second = 4e10;      ///< one way, through pinned memory
  double round_trip_seconds = 3e-5;    ///< upload, launch and download of next to nothing
  double copy_bytes_per_second = 7e9;  ///< one thread between pageable and pinned memory
};

inline constexpr double bytes_worth_a_copy_thread = 2 << 20;  ///< staging takes a thread more for so many bytes

}  // namespace exactile::plan
