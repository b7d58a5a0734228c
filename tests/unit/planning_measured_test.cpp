// SPDX-License-Identifier: Apache-2.0
// Planning::measured on kernels that are made up here, and what the user's file makes of it afterwards.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "plan/choice.hpp"
#include "plan/select.hpp"
#include "tuning/table/table.hpp"

namespace exactile::plan {
namespace {

using std::chrono::microseconds;

constexpr std::array f32_only{GemmTypes{ElementType::f32, ElementType::f32}};
std::atomic<int> runs = 0;

/// Takes its time, and writes C as a product would.
class Slow : public Executable {
 public:
  Slow(microseconds time, bool works, std::int64_t elements) : time_(time), works_(works), elements_(elements) {}
  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    ++runs;
    if (!works_) return {StatusCode::device_failure, "broken"};
    EXPECT_NE(static_cast<const float*>(arguments.a)[0], 0);
    for (std::int64_t i = 0; i < elements_; ++i) static_cast<float*>(arguments.c)[i] = 1;
    std::this_thread::sleep_for(time_);
    return {};
  }
  [[nodiscard]] std::string blocking() const override { return {}; }
  [[nodiscard]] double model_bytes() const override { return 0; }

 private:
  microseconds time_;
  bool works_;
  std::int64_t elements_;
};

/// `estimate` in seconds, what it really takes in microseconds.
template <int estimate, int really, bool works = true>
KernelEntry kernel(std::string_view name) {
  return {.name = name,
          .backend = Backend::cpu,
          .role = "engine",
          .summary = "",
          .types = f32_only,
          .unavailable = [](int) { return std::string_view(); },
          .refuses = [](const Problem&) { return std::string_view(); },
          .cost = [](const Problem&) { return double{estimate}; },
          .prepare = [](const Problem& p) -> std::unique_ptr<Executable> {
            return std::make_unique<Slow>(microseconds(really), works, p.description.m * p.description.n);
          }};
}

/// One kernel of two configurations, of which the second by estimate is the faster.
KernelEntry configured() {
  KernelEntry entry = kernel<10, 0>("configured");
  entry.offers = [](const Problem& p, std::size_t) {
    std::vector<Offer> offers{{"BM=1", "BM=1", 10}, {"BM=2", "BM=2", 11}};
    if (!p.parameters.empty()) std::erase_if(offers, [&](const Offer& o) { return o.parameters != p.parameters; });
    return offers;
  };
  entry.prepare = [](const Problem& p) -> std::unique_ptr<Executable> {
    return std::make_unique<Slow>(microseconds(p.parameters == "BM=2" ? 100 : 3000), true, 1);
  };
  entry.tunable = [](GemmTypes, int) { return TuningTarget{.space = {{"BM", {1, 2}}}}; };
  return entry;
}

/// Six configurations of a short product whose estimates are close, the fastest of them the fifth, and one that is far.
KernelEntry with_many() {
  KernelEntry entry = kernel<10, 0>("with_many");
  entry.offers = [](const Problem& p, std::size_t) {
    std::vector<Offer> offers;
    for (int i = 1; i <= 7; ++i) {
      const std::string text = "BM=" + std::to_string(i);
      if (p.parameters.empty() || p.parameters == text) offers.push_back({text, text, i == 7 ? 30e-6 : (9 + i) * 1e-6});
    }
    return offers;
  };
  entry.prepare = [](const Problem& p) -> std::unique_ptr<Executable> {
    return std::make_unique<Slow>(microseconds(p.parameters == "BM=7"   ? 0
                                               : p.parameters == "BM=5" ? 50
                                                                        : 300),
                                  true, 1);
  };
  entry.tunable = [](GemmTypes, int) { return TuningTarget{.space = {{"BM", {1, 2, 3, 4, 5, 6, 7}}}}; };
  return entry;
}

/// Many configurations whose estimates are too low by as much.
KernelEntry thought_too_fast() {
  KernelEntry entry = with_many();
  entry.offers = [](const Problem& p, std::size_t most) {
    std::vector<Offer> offers;
    for (int i = 1; i <= static_cast<int>(most); ++i) {
      const std::string text = "BM=" + std::to_string(i);
      if (p.parameters.empty() || p.parameters == text) offers.push_back({text, text, (90 + i) * 1e-7});
    }
    return offers;
  };
  entry.prepare = [](const Problem&) -> std::unique_ptr<Executable> {
    return std::make_unique<Slow>(microseconds(3000), true, 1);
  };
  return entry;
}

/// Its estimate is above all of those, but near.
KernelEntry another() {
  KernelEntry entry = kernel<1, 100>("another");
  entry.cost = [](const Problem&) { return 15e-6; };
  return entry;
}

std::vector<DeviceInfo> one_chip() { return {{.backend = Backend::cpu, .name = "Chip", .available = true}}; }

std::span<const KernelEntry> four_kernels() {
  static const std::array list{kernel<4, 3000>("fourth"), kernel<1, 2000>("first"), kernel<2, 100>("second"),
                               kernel<3, 0, false>("broken")};
  return list;
}
std::span<const KernelEntry> one_configured() {
  static const std::array list{configured()};
  return list;
}
std::span<const KernelEntry> one_with_many() {
  static const std::array list{with_many()};
  return list;
}
std::span<const KernelEntry> configured_and_others() {
  static const std::array list{configured(), kernel<12, 3000>("third"), kernel<13, 3000>("fourth")};
  return list;
}
const BackendEntry several{
    .backend = Backend::cpu, .kernels = configured_and_others, .devices = one_chip, .measure_peak = nullptr};
std::span<const KernelEntry> one_thought_too_fast() {
  static const std::array list{thought_too_fast(), another()};
  return list;
}
const BackendEntry misjudged{
    .backend = Backend::cpu, .kernels = one_thought_too_fast, .devices = one_chip, .measure_peak = nullptr};
const BackendEntry many{
    .backend = Backend::cpu, .kernels = one_with_many, .devices = one_chip, .measure_peak = nullptr};
const BackendEntry four{.backend = Backend::cpu, .kernels = four_kernels, .devices = one_chip, .measure_peak = nullptr};
const BackendEntry one{
    .backend = Backend::cpu, .kernels = one_configured, .devices = one_chip, .measure_peak = nullptr};

Problem problem_of(Planning planning, std::int64_t m = 128) {
  return {.description = {.types = f32_only[0],
                          .m = m,
                          .n = 128,
                          .k = 128,
                          .a = {.row_stride = 128},
                          .b = {.row_stride = 128},
                          .c = {.row_stride = 128}},
          .planning = planning};
}

class PlanningMeasured : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "exactile-wisdom-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    setenv("EXACTILE_TUNING_DB", file().c_str(), 1);
    runs = 0;
  }
  void TearDown() override {
    unsetenv("EXACTILE_TUNING_DB");
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string file() const { return folder_ / "rows.tsv"; }
  static Choice settled(const BackendEntry& backend, const Problem& problem, const GemmOptions& options = {}) {
    const std::array<const BackendEntry*, 1> backends{&backend};
    const auto estimated = select(backends, problem, options);
    EXPECT_TRUE(estimated.ok());
    return settle(backends, problem, options, estimated.value());
  }
  std::filesystem::path folder_;
};

TEST_F(PlanningMeasured, TakesTheFastestOfTheFirstAndLeavesOutWhatFails) {
  EXPECT_EQ(settled(four, problem_of(Planning::estimate)).kernel->name, "first");
  EXPECT_EQ(runs, 0);
  const Choice choice = settled(four, problem_of(Planning::measured));
  EXPECT_EQ(choice.kernel->name, "second");
  EXPECT_NE(choice.why.find("the fastest of 2"), std::string::npos) << choice.why;
}

TEST_F(PlanningMeasured, TriesMoreWaysWhereTheyAreShortAndClose) {
  const Choice choice = settled(many, problem_of(Planning::measured));
  EXPECT_EQ(choice.parameters, "BM=5");
  EXPECT_NE(choice.why.find("the fastest of 6"), std::string::npos) << choice.why;
}

TEST_F(PlanningMeasured, TriesTheTwoCheapestWaysOfALongProductWhateverTheirKernels) {
  const Choice choice = settled(several, problem_of(Planning::measured));
  EXPECT_EQ(choice.parameters, "BM=2");
  EXPECT_NE(choice.why.find("the fastest of 3"), std::string::npos) << choice.why;
}

TEST_F(PlanningMeasured, TriesOtherKernelsBesideTheWaysOfOne) {
  EXPECT_EQ(settled(misjudged, problem_of(Planning::measured)).kernel->name, "another");
}

TEST_F(PlanningMeasured, TriesNoMoreThanThreeWaysWhoseFirstCallsTakeLong) {
  const Choice choice = settled(misjudged, problem_of(Planning::measured));
  EXPECT_NE(choice.why.find("the fastest of 3"), std::string::npos) << choice.why;
}

TEST_F(PlanningMeasured, IsRememberedForThatProductAlone) {
  (void)settled(four, problem_of(Planning::measured));
  const int measured = runs;
  EXPECT_EQ(settled(four, problem_of(Planning::measured)).kernel->name, "second");
  EXPECT_EQ(settled(four, problem_of(Planning::estimate)).kernel->name, "second");
  EXPECT_EQ(settled(four, problem_of(Planning::formula)).kernel->name, "first");
  EXPECT_EQ(settled(four, problem_of(Planning::estimate, 129)).kernel->name, "first");
  Problem other_threads = problem_of(Planning::estimate);
  other_threads.threads = 2;
  EXPECT_EQ(settled(four, other_threads).kernel->name, "first");
  EXPECT_EQ(settled(four, problem_of(Planning::estimate), {.kernel = "fourth"}).kernel->name, "fourth");
  EXPECT_EQ(runs, measured);
}

TEST_F(PlanningMeasured, ConfigurationsAreTimedAndPinned) {
  EXPECT_EQ(settled(one, problem_of(Planning::measured)).parameters, "BM=2");
  EXPECT_EQ(settled(one, problem_of(Planning::estimate)).parameters, "BM=2");
  const GemmOptions pinned{.parameters = "BM=1"};
  Problem problem = problem_of(Planning::measured);
  problem.parameters = pinned.parameters;
  EXPECT_EQ(settled(one, problem, pinned).parameters, "BM=1");
}

TEST_F(PlanningMeasured, RowsOfKernelsThatAreGoneCountForNothing) {
  (void)settled(four, problem_of(Planning::measured));
  EXPECT_EQ(settled(one, problem_of(Planning::estimate)).kernel->name, "configured");
}

TEST_F(PlanningMeasured, AFileThatCannotBeWrittenIsSaid) {
  setenv("EXACTILE_TUNING_DB", "/proc/no/such/rows.tsv", 1);
  const Choice choice = settled(four, problem_of(Planning::measured));
  EXPECT_EQ(choice.kernel->name, "second");
  EXPECT_NE(choice.why.find("not kept"), std::string::npos) << choice.why;
}

TEST_F(PlanningMeasured, WithoutMemoryOrWithPointersItIsTheEstimate) {
  Problem pointers = problem_of(Planning::measured);
  pointers.description.a.pointer_array = true;
  EXPECT_EQ(settled(four, pointers).kernel->name, "first");
  Problem large = problem_of(Planning::measured, std::int64_t{1} << 40);
  EXPECT_EQ(settled(four, large).kernel->name, "first");
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace exactile::plan
