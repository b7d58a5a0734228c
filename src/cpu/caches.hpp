// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace exactile::cpu {

struct Caches {
  std::int64_t l1 = 32 << 10;   ///< bytes of level-1 data cache of one core
  std::int64_t l2 = 512 << 10;  ///< bytes of level-2 cache of one core
  std::int64_t l3 = 8 << 20;    ///< bytes of level-3 cache, shared
};

/// As the operating system reports them; the values above where it does not. Read once.
[[nodiscard]] const Caches& caches();

/// The processor's own name, as the operating system tells it. Read once.
[[nodiscard]] const std::string& processor_name();

/// Vendor, family and model, which name a core's design where its own name may not. Read once.
[[nodiscard]] const std::string& processor_identity();

}  // namespace exactile::cpu
