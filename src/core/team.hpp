// SPDX-License-Identifier: Apache-2.0
/// \file
/// Threads that work on one product together.
#pragma once

#include <functional>

#include "core/meeting.hpp"

namespace exactile::core {

/// What one thread of a team knows of itself.
struct Member {
  int id;            ///< 0 .. count - 1; 0 is the calling thread
  int count;         ///< threads in this team
  Meeting* meeting;  ///< null in a team of one

  /// Waits until all members are here.
  void meet() const {
    if (meeting != nullptr) meeting->arrive_and_wait();
  }
};

/// Runs `body` on up to `wanted` threads, the caller among them, and returns when all are done. Between calls workers
/// look for the next one for a while (50 us), then sleep. A call gets those that are idle, so calls from many
/// threads at once share the workers instead of multiplying them, and a team may be smaller than wanted: `body` must
/// give the same result for any count. `body` must not throw. It finds the caller's rounding mode and treatment of
/// subnormal numbers on every thread. After fork() the child starts with no workers and makes its own. Throws
/// std::bad_alloc where there is no memory for a job; nothing has run then.
void run_team(int wanted, const std::function<void(const Member&)>& body);

/// run_team() as one copy of the library hands it to another in the same process.
using RunTeam = void(int wanted, const std::function<void(const Member&)>& body);
/// From now on run_team() of this copy is `other`'s, so that both share one set of workers. The first call counts.
void use_team_of(RunTeam* other) noexcept;

}  // namespace exactile::core
