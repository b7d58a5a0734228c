// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/device.hpp"

#include <gtest/gtest.h>

#include "cuda/kernel.hpp"

namespace exactile::cuda {
namespace {

TEST(Device, IsTooOldWhereTheBuildHasNoCodeForIt) {
  EXPECT_EQ(why_too_old(75, 80), "this build has code for compute capability 8.0 and later; the device has 7.5");
  EXPECT_EQ(why_too_old(80, 80), "");
  EXPECT_EQ(why_too_old(120, 75), "");
}

/// The processor takes products over from a device that cannot be had, and not from one that failed amid them.
TEST(Device, ThatCannotBeHadIsToldFromOneThatFails) {
  EXPECT_EQ(check(cudaErrorDevicesUnavailable, "cudaSetDevice").code(), StatusCode::device_unavailable);
  EXPECT_EQ(check(cudaErrorInitializationError, "cudaSetDevice").code(), StatusCode::device_unavailable);
  EXPECT_EQ(check(cudaErrorMemoryAllocation, "cudaMalloc").code(), StatusCode::out_of_memory);
  EXPECT_EQ(check(cudaErrorIllegalAddress, "cudaStreamSynchronize").code(), StatusCode::device_failure);
}

}  // namespace
}  // namespace exactile::cuda
