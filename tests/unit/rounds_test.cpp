// SPDX-License-Identifier: Apache-2.0
#include "measure/rounds.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace exactile::measure {
namespace {

constexpr double long_enough = 30;  // of a machine on which threads may wait for their turn

TEST(WaitUntilIdle, ReturnsOnceNoThreadOfTheProcessIsAtWork) {
  std::atomic<bool> is_over = false;
  std::thread spinner([&] {
    while (!is_over) {
    }
  });
  bool is_seen = false;  // a busy machine may not let the thread run within every look
  for (int attempt = 0; attempt < 100 && !is_seen; ++attempt) is_seen = !wait_until_idle(0.01);
  EXPECT_TRUE(is_seen);
  is_over = true;
  spinner.join();
  EXPECT_TRUE(wait_until_idle(long_enough));
}

TEST(WaitUntilIdle, DoesNotWaitWhereItMayNot) { EXPECT_FALSE(wait_until_idle(0)); }

}  // namespace
}  // namespace exactile::measure
