// SPDX-License-Identifier: Apache-2.0
// Calls that name no backend, where there is a driver and a device (fake_backend.cpp): it negates its products.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "exactile/exactile.hpp"
#include "support/subprocess.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t n = 512;

/// Every test is a process of its own, in which no device has been asked for anything.
class Automatic : public testing::Test {
 protected:
  static void in_a_fresh_process(const std::function<int()>& body) { EXPECT_EQ(exit_code_of_child(body), 0); }

  void SetUp() override { setenv("EXACTILE_CUDA_MODULE", FAKE_MODULE, 1); }

  /// A product this large is worth opening a driver for. It is planned, and not computed.
  static Plan large_plan() {
    constexpr std::int64_t size = 16384;
    const OperandLayout layout{.row_stride = size};
    return Plan::make({.types = {ElementType::f32, ElementType::f32},
                       .m = size,
                       .n = size,
                       .k = size,
                       .a = layout,
                       .b = layout,
                       .c = layout})
        .value();
  }

  /// C after C <- A B + beta C with A, B and C of ones.
  static float product(float beta = 0, const GemmOptions& options = {}) {
    static const std::vector<float> ones(n * n, 1);
    std::vector<float> c(n * n, 1);
    const Status status = gemm(MatrixView(ones.data(), n, n), MatrixView(ones.data(), n, n), MatrixView(c.data(), n, n),
                               {.beta = beta, .options = options});
    return status.ok() ? c.back() : 0;
  }
  static constexpr float here = n;
  static constexpr float there = -n;

  static bool module_is_open() { return dlopen(FAKE_MODULE, RTLD_LAZY | RTLD_NOLOAD) != nullptr; }
};

TEST_F(Automatic, NoDriverIsTouchedForProductsOfTheProcessor) {
  in_a_fresh_process([] {
    for (int call = 0; call < 3; ++call)
      if (product() != here) return 1;
    return module_is_open() ? 2 : 0;
  });
}

TEST_F(Automatic, ALargeProductOpensTheDriverAndLaterOnesUseIt) {
  in_a_fresh_process([] {
    const PlanSummary summary = large_plan().summary();
    if (summary.kernel != "fake_kernel" || summary.backend != Backend::cuda || !module_is_open()) return 1;
    bool has_reserve = false;
    for (const Candidate& candidate : summary.candidates)
      if (candidate.reason == "in reserve, for when the device of cuda cannot compute") has_reserve = true;
    return has_reserve && product() == there ? 0 : 2;
  });
}

TEST_F(Automatic, WhatIsNamedIsDone) {
  in_a_fresh_process([] {
    large_plan();
    if (product(0, {.backend = Backend::cpu}) != here || product(0, {.backend = Backend::cuda}) != there) return 1;
    set_default_backend(Backend::cpu);
    if (product(0, {.threads = 1}) != here) return 2;
    set_default_backend(Backend::cuda);
    if (product(0, {.threads = 2}) != there) return 3;
    set_default_backend(Backend::automatic);
    return product(0, {.threads = 3}) == there ? 0 : 4;
  });
}

TEST_F(Automatic, TheEnvironmentNamesTheDefault) {
  in_a_fresh_process([] {
    setenv("EXACTILE_BACKEND", "cuda", 1);
    if (default_backend() != Backend::cuda || product(0, {.threads = 1}) != there) return 1;
    setenv("EXACTILE_BACKEND", "cpu", 1);
    large_plan();
    if (product(0, {.threads = 2}) != here) return 2;
    setenv("EXACTILE_BACKEND", "gpu", 1);
    if (ignored_settings().size() != 1 || default_backend() != Backend::automatic) return 3;
    setenv("EXACTILE_BACKEND", "cuda", 1);
    setenv("EXACTILE_DEVICE", "7", 1);  // which is not there
    return product(0, {.threads = 4}) == 0 ? 0 : 4;
  });
}

TEST_F(Automatic, AFullDeviceLeavesItToTheProcessor) {
  in_a_fresh_process([] {
    const Plan plan = large_plan();
    setenv("FAKE_DEVICE", "full", 1);
    if (product(2) != here + 2) return 1;  // whatever beta is: a full device has not touched C
    if (plan.explain().find("went back to the processor: the fake device is full") == std::string::npos) return 2;
    unsetenv("FAKE_DEVICE");
    return product(2) == there + 2 ? 0 : 4;
  });
}

TEST_F(Automatic, ABrokenDeviceIsUsedNoMore) {
  in_a_fresh_process([] {
    const Plan plan = large_plan();
    setenv("FAKE_DEVICE", "broken", 1);
    if (product() != here) return 1;
    unsetenv("FAKE_DEVICE");
    if (product() != here || plan.summary().backend != Backend::cpu) return 2;
    return plan.explain().find("is left alone since it failed: the fake device is broken") != std::string::npos ? 0 : 3;
  });
}

/// C may be half written: what it was is lost, and the caller must know.
TEST_F(Automatic, AFailureThatMayHaveChangedCIsAnswered) {
  in_a_fresh_process([] {
    large_plan();
    setenv("FAKE_DEVICE", "broken", 1);
    return product(2) == 0 ? 0 : 1;
  });
}

TEST_F(Automatic, AChildOfForkComputesOnTheProcessor) {
  in_a_fresh_process([] {
    large_plan();
    if (product() != there) return 1;
    return exit_code_of_child([] { return product() == here ? 0 : 1; });
  });
}

TEST_F(Automatic, ADriverThatACallByNameOpenedCostsNothingMore) {
  in_a_fresh_process([] {
    if (product(0, {.backend = Backend::cuda}) != there) return 1;
    if (exit_code_of_child([] { return product() == here ? 0 : 1; }) != 0) return 2;  // nor is it a child's
    return product() == there ? 0 : 3;
  });
}

/// Planning for a device takes longer than small products do.
TEST_F(Automatic, AProductThatWaitsForADeviceIsPlannedOnce) {
  in_a_fresh_process([] {
    const auto estimates = [] {
      for (const DeviceInfo& device : devices())
        for (const auto& [name, value] : device.properties)
          if (device.backend == Backend::cuda && name == "estimates") return std::stoi(value);
      return 0;
    };
    if (product(0, {.backend = Backend::cuda}) != there) return 1;  // opens the driver
    setenv("FAKE_DEVICE", "unready", 1);
    if (product() != here) return 2;
    const int before = estimates();
    for (int call = 0; call < 3; ++call)
      if (product() != here) return 3;
    if (before == 0 || estimates() != before) return 4;
    unsetenv("FAKE_DEVICE");
    return product() == there ? 0 : 5;
  });
}

TEST_F(Automatic, ASlowDeviceIsNotTaken) {
  in_a_fresh_process([] {
    setenv("FAKE_DEVICE", "slow", 1);
    const std::string text = large_plan().explain();
    if (product() != here) return 1;
    return text.find("lost: takes an estimated 5e+02 s with copies, the processor") != std::string::npos ? 0 : 2;
  });
}

}  // namespace
}  // namespace exactile::test
