// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/device.hpp"

#include <gtest/gtest.h>

namespace exactile::cuda {
namespace {

TEST(Device, IsTooOldWhereTheBuildHasNoCodeForIt) {
  EXPECT_EQ(why_too_old(75, 80), "this build has code for compute capability 8.0 and later; the device has 7.5");
  EXPECT_EQ(why_too_old(80, 80), "");
  EXPECT_EQ(why_too_old(120, 75), "");
}

}  // namespace
}  // namespace exactile::cuda
