// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <string>

#include "core/team.hpp"
#include "exactile/context.hpp"
#include "exactile/devices.hpp"

namespace exactile::test {
namespace {

TEST(CudaModule, RunsOnTheThreadsOfTheLibrary) {
  setenv("EXACTILE_CUDA_MODULE", FAKE_MODULE, 1);
  std::atomic<int> ids[3]{};
  core::run_team(3, [&](const core::Member& member) {
    ids[member.id] = gettid();
    member.meet();
  });
  std::set<std::string> ours;
  for (const auto& id : ids) ours.insert(std::to_string(id.load()));
  std::set<std::string> theirs;
  for (const DeviceInfo& device : devices())
    for (const auto& [key, value] : device.properties)
      if (key == "thread") theirs.insert(value);
  EXPECT_EQ(theirs.size(), 3U);
  EXPECT_EQ(ours, theirs);
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.status().message(), "the fake device computes nothing");
}

}  // namespace
}  // namespace exactile::test
