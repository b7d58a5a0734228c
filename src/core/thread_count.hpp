// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace exactile::core {

/// What the environment or the program may ask for; the team starts no more than a product can occupy.
inline constexpr int most_threads = 65536;

/// How many processors this process may use: the affinity mask, cut to the cgroup's CPU quota rounded up. Read once.
[[nodiscard]] int usable_processors();

/// Threads for a call: `requested` if positive, else EXACTILE_NUM_THREADS, else OMP_NUM_THREADS, else
/// usable_processors(). The environment is read at every call, so a change takes effect.
[[nodiscard]] int thread_count(int requested);

}  // namespace exactile::core
