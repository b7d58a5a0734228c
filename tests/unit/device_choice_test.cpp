// SPDX-License-Identifier: Apache-2.0
// The automatic choice between the processor and a device, with a device that is made here.
#include "plan/device_choice.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "support/matrices.hpp"

namespace exactile::test {
namespace {

constexpr GemmTypes f32{ElementType::f32, ElementType::f32};
constexpr std::array types{f32};

// What the device says of itself; each test begins with these.
double kernel_seconds = 0;
double first_use = 0;
bool is_there = true;
std::string_view by_name_only;
int questions = 0;  ///< to the driver
int opener = 0;     ///< the process that asked the first
int second_questions = 0;
plan::HostLink link;

class DeviceChoice : public testing::Test {
 protected:
  void SetUp() override {
    kernel_seconds = 1e-4;
    first_use = 0;
    is_there = true;
    by_name_only = {};
    questions = 0;
    opener = 0;
    link = {};
  }

  static plan::KernelEntry kernel(Backend backend, double (*cost)(const plan::Problem&)) {
    return {.name = backend == Backend::cpu ? "here" : "there",
            .backend = backend,
            .role = "engine",
            .summary = "",
            .types = types,
            .unavailable = [](int) { return std::string_view(); },
            .refuses = [](const plan::Problem&) { return std::string_view(); },
            .cost = cost,
            .prepare = nullptr,
            .on_device = backend != Backend::cpu,
            .reproducible = true};
  }

  /// A product that the processor is said to need `here` seconds for.
  static plan::DeviceChoice choose(double here, plan::DeviceLedger& ledger, std::int64_t n = 1024, int threads = 16,
                                   bool reproducible = false, bool has_second = false) {
    static double seconds_here;
    seconds_here = here;
    static const plan::KernelEntry processor = kernel(Backend::cpu, [](const plan::Problem&) { return seconds_here; });
    static const std::array device{kernel(Backend::cuda, [](const plan::Problem&) { return kernel_seconds; })};
    static const plan::BackendEntry backend{
        .backend = Backend::cuda,
        .kernels =
            [] {
              ++questions;
              if (opener == 0) opener = getpid();
              return is_there ? std::span<const plan::KernelEntry>(device) : std::span<const plan::KernelEntry>();
            },
        .devices = []() -> std::vector<DeviceInfo> { return {{.reason = "no driver of that name"}}; },
        .measure_peak = nullptr};
    static const plan::Offload offload{.backend = &backend,
                                       .context_seconds = 0.2,
                                       .overlaps_copies = true,
                                       .why_absent = [] { return std::string_view(); },
                                       .first_use_seconds = [](int) { return first_use; },
                                       .only_by_name = [](int) { return by_name_only; },
                                       .is_pinned = [](const void*, std::int64_t, int) { return false; },
                                       .opened_by = [] { return opener; },
                                       .link = [](int) { return link; }};
    static const plan::BackendEntry second_backend{.backend = Backend::opencl,
                                                   .kernels =
                                                       [] {
                                                         ++second_questions;
                                                         return std::span<const plan::KernelEntry>();
                                                       },
                                                   .devices = []() -> std::vector<DeviceInfo> { return {}; },
                                                   .measure_peak = nullptr};
    static const plan::Offload second{.backend = &second_backend,
                                      .why_absent = [] { return std::string_view(); },
                                      .first_use_seconds = nullptr,
                                      .only_by_name = nullptr,
                                      .is_pinned = nullptr};
    const std::array all{&offload, &second};
    const plan::Problem problem{
        .description = contiguous(f32, n, n, n), .threads = threads, .reproducible = reproducible};
    return plan::choose_device(std::span(all).first(has_second ? 2 : 1), problem, {}, processor, 0, ledger);
  }
  static std::string reason(const plan::DeviceChoice& choice) { return choice.verdicts.at(0).reason; }
};

TEST_F(DeviceChoice, TheDriverIsNotOpenedForWhatCopiesAloneWouldCost) {
  plan::DeviceLedger ledger;
  for (int call = 0; call < 100000; ++call) {
    const plan::DeviceChoice choice = choose(3e-5, ledger, 16);
    ASSERT_EQ(choice.kernel, nullptr);
    ASSERT_EQ(choice.awaited.offload, nullptr);
  }
  EXPECT_EQ(questions, 0);
  EXPECT_EQ(reason(choose(3e-5, ledger, 16)), "not asked: the processor takes an estimated 30 us, copies alone 30 us");
}

/// As one rents skis until what was paid would have bought them.
TEST_F(DeviceChoice, TheFirstUseIsPaidByWhatItWouldHaveSpared) {
  plan::DeviceLedger ledger;
  first_use = 0.2;
  int call = 0;
  for (plan::DeviceChoice c = choose(0.02, ledger); c.kernel == nullptr; c = choose(0.02, ledger)) {
    ASSERT_LT(++call, 100);
    EXPECT_NE(c.awaited.offload, nullptr);
  }
  // 20 ms against some 1 ms: twice 0.2 s, for the driver and for the context.
  EXPECT_NEAR(call, 21, 2);
}

/// A plan that is used again pays as one that is made again does, and is made anew once it may change.
TEST_F(DeviceChoice, EachRunOfAWaitingPlanPays) {
  plan::DeviceLedger ledger;
  const plan::DeviceChoice unopened = choose(0.02, ledger);
  ASSERT_NE(unopened.awaited.offload, nullptr);
  EXPECT_FALSE(unopened.awaited.is_of_device);
  int runs = 1;
  while (!ledger.may_begin(unopened.awaited)) ASSERT_LT(++runs, 100);
  EXPECT_NEAR(runs, 10, 1);
  first_use = 0.2;
  const plan::DeviceChoice unready = choose(0.02, ledger);
  EXPECT_TRUE(unready.awaited.is_of_device);
  EXPECT_TRUE(ledger.may_begin(unopened.awaited)) << "the driver is open";
  EXPECT_FALSE(ledger.may_begin(unready.awaited));
  first_use = 0;
  EXPECT_TRUE(ledger.may_begin(unready.awaited)) << "somebody made the device ready";
  EXPECT_NE(choose(0.02, ledger).kernel, nullptr);
}

/// A GPU that two backends reach is opened by the first, which answers for it: whether it waits, loses or wins.
TEST_F(DeviceChoice, TheSecondBackendIsAskedWhereTheFirstHasNoKernel) {
  const auto second_is_asked = [] {
    plan::DeviceLedger ledger;
    second_questions = 0;
    const plan::DeviceChoice choice = choose(1, ledger, 1024, 16, false, true);
    EXPECT_EQ(choice.verdicts.at(1).reason == "not asked: a device of cuda comes before its", second_questions == 0);
    return second_questions > 0;
  };
  EXPECT_FALSE(second_is_asked());
  kernel_seconds = 2;
  EXPECT_FALSE(second_is_asked());
  first_use = 10;
  EXPECT_FALSE(second_is_asked());
  is_there = false;
  EXPECT_TRUE(second_is_asked());
}

TEST_F(DeviceChoice, ALargeProductGoesThereAtOnce) {
  plan::DeviceLedger ledger;
  first_use = 0.2;
  const plan::DeviceChoice choice = choose(1, ledger);
  ASSERT_NE(choice.kernel, nullptr);
  EXPECT_FALSE(choice.only_if_pinned);
  EXPECT_TRUE(reason(choice).starts_with("takes an estimated")) << reason(choice);
}

/// A device has other bits: whether it takes part must not show in them.
TEST_F(DeviceChoice, ReproducibleProductsStayWhereTheyAre) {
  plan::DeviceLedger ledger;
  const plan::DeviceChoice choice = choose(1, ledger, 1024, 16, true);
  EXPECT_EQ(choice.kernel, nullptr);
  EXPECT_EQ(choice.awaited.offload, nullptr);
  EXPECT_EQ(questions, 0);
  EXPECT_EQ(reason(choice), "not asked: its bits are others than the processor's (reproducible)");
}

/// Whoever has named the device before has paid for its driver.
TEST_F(DeviceChoice, AnOpenDriverCostsNothing) {
  plan::DeviceLedger ledger;
  opener = getpid();
  EXPECT_NE(choose(0.02, ledger).kernel, nullptr);
}

TEST_F(DeviceChoice, AnOpenDriverOfTheParentIsLeftAlone) {
  plan::DeviceLedger ledger;
  opener = getppid();
  EXPECT_EQ(choose(1, ledger).kernel, nullptr);
  EXPECT_NE(reason(choose(1, ledger)).find("forked"), std::string::npos);
}

TEST_F(DeviceChoice, TheLinkIsTheDevicesOwn) {
  plan::DeviceLedger ledger;
  EXPECT_NE(choose(1, ledger).kernel, nullptr);
  link.bytes_per_second = 1e6;  // 8 MiB in 8 seconds
  EXPECT_EQ(choose(1, ledger).kernel, nullptr);
}

TEST_F(DeviceChoice, ASlowDeviceLosesForGood) {
  plan::DeviceLedger ledger;
  kernel_seconds = 2;
  const plan::DeviceChoice choice = choose(1, ledger);
  EXPECT_EQ(choice.kernel, nullptr);
  EXPECT_EQ(choice.awaited.offload, nullptr);
  EXPECT_EQ(reason(choice), "lost: takes an estimated 2 s with copies, the processor 1 s");
}

/// One thread brings 12 MiB into pinned memory and back in 1.8 ms; the link takes 0.2 ms.
TEST_F(DeviceChoice, PinnedMemoryMayDecide) {
  plan::DeviceLedger ledger;
  choose(1, ledger);  // opens the driver
  const plan::DeviceChoice choice = choose(1e-3, ledger, 1024, 1);
  ASSERT_NE(choice.kernel, nullptr);
  EXPECT_TRUE(choice.only_if_pinned);
  EXPECT_FALSE(choose(1e-3, ledger, 1024, 16).only_if_pinned);
  first_use = 0.2;  // nobody's memory is pinned by a driver that is not there
  EXPECT_EQ(choose(1e-3, ledger, 1024, 1).kernel, nullptr);
}

TEST_F(DeviceChoice, SaysWhatIsNotThere) {
  plan::DeviceLedger ledger;
  is_there = false;
  const plan::DeviceChoice choice = choose(1, ledger);
  EXPECT_EQ(choice.kernel, nullptr);
  EXPECT_EQ(choice.awaited.offload, nullptr);
  EXPECT_EQ(reason(choice), "backend 'cuda' cannot do this product: no driver of that name");
}

TEST_F(DeviceChoice, SomeDevicesComputeOnlyByName) {
  plan::DeviceLedger ledger;
  by_name_only = "is a processor";
  EXPECT_EQ(choose(1, ledger).kernel, nullptr);
  EXPECT_EQ(reason(choose(1, ledger)), "is a processor");
}

TEST_F(DeviceChoice, AFullDeviceIsAskedAgainAndABrokenOneIsNot) {
  plan::DeviceLedger ledger;
  const plan::Offload* device = choose(1, ledger).offload;
  ASSERT_NE(device, nullptr);
  ledger.failed(*device, {StatusCode::out_of_memory, "full"});
  EXPECT_NE(choose(1, ledger).kernel, nullptr);
  EXPECT_EQ(ledger.last_failure(*device), "full");
  ledger.failed(*device, {StatusCode::device_failure, "an illegal address"});
  EXPECT_EQ(choose(1, ledger).kernel, nullptr);
  EXPECT_EQ(reason(choose(1, ledger)), "is left alone since it failed: an illegal address");
}

TEST_F(DeviceChoice, AForkedProcessHasNoDriverOfItsParent) {
  plan::DeviceLedger ledger;
  ASSERT_NE(choose(1, ledger).kernel, nullptr);
  const pid_t child = fork();
  if (child == 0)
    _exit(choose(1, ledger).kernel == nullptr && reason(choose(1, ledger)).find("forked") != std::string::npos ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(choose(1, ledger).kernel, nullptr);
}

}  // namespace
}  // namespace exactile::test
