// SPDX-License-Identifier: Apache-2.0
// Kernels measured against each other: what the planner makes of the user's rows. The backend is made up here.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "plan/device_choice.hpp"
#include "plan/measured.hpp"
#include "plan/select.hpp"
#include "plan/transposed.hpp"
#include "tuning/table/table.hpp"

namespace exactile::plan {
namespace {

constexpr std::array f32_only{GemmTypes{ElementType::f32, ElementType::f32}};

int keys_asked_for = 0;

template <int seconds>
KernelEntry kernel(std::string_view name) {
  return {.name = name,
          .backend = Backend::opencl,
          .role = "engine",
          .summary = "",
          .types = f32_only,
          .unavailable = [](int) { return std::string_view(); },
          .refuses =
              [](const Problem& p) {
                return std::string_view(seconds == 3 && p.description.m == 999 ? "dislikes 999 rows" : "");
              },
          .cost = [](const Problem&) { return double{seconds}; },
          .prepare = nullptr,
          .on_device = true,
          .tunable =
              [](GemmTypes, int) {
                ++keys_asked_for;
                return TuningTarget{.version = 3, .device = "Chip", .driver = "7"};
              }};
}

std::span<const KernelEntry> made_up_kernels() {
  static const std::array list{kernel<1>("cheap"), kernel<2>("middling"), kernel<3>("dear")};
  return list;
}

const BackendEntry made_up{
    .backend = Backend::opencl, .kernels = made_up_kernels, .devices = nullptr, .measure_peak = nullptr};
constexpr std::array<const BackendEntry*, 1> backends{&made_up};

class Measured : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "exactile-measured-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    setenv("EXACTILE_TUNING_DB", file().c_str(), 1);
  }
  void TearDown() override {
    unsetenv("EXACTILE_TUNING_DB");
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string file() const { return folder_ / "rows.tsv"; }
  void measure(const std::string& name, double rate, const std::string& driver = "7", int version = 3,
               const std::string& shape_class = "medium") const {
    ASSERT_TRUE(tuning::add_row(file(), {{name, version, "f32", shape_class, "Chip", driver}, {}, rate}).ok());
  }
  [[nodiscard]] static Problem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
    Problem made;
    made.memory = Memory::device;
    made.description = {.types = f32_only[0],
                        .m = m,
                        .n = n,
                        .k = k,
                        .a = {.row_stride = k},
                        .b = {.row_stride = n},
                        .c = {.row_stride = n}};
    return made;
  }
  [[nodiscard]] static Problem problem(std::int64_t size = 1000) { return problem(size, size, size); }
  [[nodiscard]] static std::string chosen(const Problem& problem,
                                          const GemmOptions& options = {.backend = Backend::opencl}) {
    const auto entry = select(backends, problem, options);
    return entry.ok() ? std::string(entry.value()->name) : std::string(entry.status().message());
  }

  std::filesystem::path folder_;
};

TEST_F(Measured, EstimatesDecideWhereNothingWasMeasured) { EXPECT_EQ(chosen(problem()), "cheap"); }

TEST_F(Measured, TheFastestMeasuredIsTaken) {
  measure("cheap", 1e12);
  measure("dear", 2e12);
  EXPECT_EQ(chosen(problem()), "dear");
  measure("cheap", 3e12);  // the best of a kernel's rows counts
  EXPECT_EQ(chosen(problem()), "cheap");
}

TEST_F(Measured, EstimatesAreNotWeighedAgainstMeasurements) {
  measure("dear", 9e12);
  EXPECT_EQ(chosen(problem()), "cheap") << "was never measured itself";
}

TEST_F(Measured, KeysAreAskedForOnlyWhereThereAreRows) {
  measure("another backend's", 1e12);
  measure("cheap", 1e12, "7", 3, "thin");
  const int before = keys_asked_for;
  EXPECT_EQ(chosen(problem()), "cheap");
  EXPECT_EQ(keys_asked_for, before);
  measure("cheap", 1e12);
  EXPECT_EQ(chosen(problem()), "cheap");
  EXPECT_GT(keys_asked_for, before);
}

TEST_F(Measured, OtherDriversVersionsAndFailuresDoNotCount) {
  measure("cheap", 1e12);
  measure("middling", 9e12, "8");
  measure("middling", 9e12, "7", 2);
  measure("dear", 0);
  EXPECT_EQ(chosen(problem()), "cheap");
}

TEST_F(Measured, OnlyForProductsLikeTheMeasuredOnes) {
  measure("cheap", 1e12);
  measure("dear", 2e12);
  ASSERT_EQ(chosen(problem()), "dear");
  Problem other = problem(100);
  EXPECT_EQ(chosen(other), "cheap") << "small";
  other = problem();
  other.description.k = 64;
  EXPECT_EQ(chosen(other), "cheap") << "shallow";
  other = problem();
  other.description.batch_count = 2;
  EXPECT_EQ(chosen(other), "cheap") << "a batch";
  other = problem();
  other.memory = Memory::host;
  EXPECT_EQ(chosen(other), "cheap") << "operands elsewhere";
  other = problem(2000);
  EXPECT_EQ(chosen(other), "cheap") << "another class of shapes";
}

TEST_F(Measured, OnlyForTheMeasuredLayout) {
  measure("cheap", 1e12);
  measure("dear", 2e12);
  Problem other = problem();
  other.description.b.row_stride = 1024;
  EXPECT_EQ(chosen(other), "dear") << "rows further apart are no other layout";
  for (OperandLayout GemmDescription::*operand : {&GemmDescription::a, &GemmDescription::b, &GemmDescription::c}) {
    other = problem();
    other.description.*operand = transposed(other.description.*operand);
    EXPECT_EQ(chosen(other), "cheap") << "transposed";
  }
  other = problem();
  other.description.bias = Bias::per_row;
  EXPECT_EQ(chosen(other), "cheap") << "a bias";
  other = problem();
  other.description.row_scales = true;
  EXPECT_EQ(chosen(other), "cheap") << "scales";
  other = problem();
  other.description.activation = Activation::relu;
  EXPECT_EQ(chosen(other), "cheap") << "an activation";
}

TEST_F(Measured, OnlyNearTheMeasuredSide) {
  for (const char* shape_class : {"thin", "medium"}) {
    measure("cheap", 1e12, "7", 3, shape_class);
    measure("dear", 2e12, "7", 3, shape_class);
  }
  for (const std::int64_t rows : {32, 64, 128}) {
    EXPECT_EQ(chosen(problem(rows, 4096, 4096)), "dear") << rows;
    EXPECT_EQ(chosen(problem(4096, rows, 4096)), "dear") << rows;
  }
  for (const std::int64_t rows : {8, 31}) {
    EXPECT_EQ(chosen(problem(rows, 4096, 4096)), "cheap") << rows;
    EXPECT_EQ(chosen(problem(4096, rows, 4096)), "cheap") << rows;
  }
  EXPECT_EQ(chosen(problem(300, 4096, 4096)), "cheap") << "medium is measured at 1024";
}

TEST_F(Measured, RefusalsAndNamesStand) {
  measure("cheap", 1e12);
  measure("dear", 2e12);
  EXPECT_EQ(chosen(problem(), {.kernel = "middling"}), "middling");
  ASSERT_EQ(chosen(problem(998)), "dear");
  EXPECT_EQ(chosen(problem(999)), "cheap");
  EXPECT_NE(chosen(problem(), {.kernel = "dear", .parameters = "X=1"}).find("no parameters"), std::string::npos);
}

TEST_F(Measured, ExplainSaysSo) {
  measure("cheap", 1e12);
  measure("dear", 2e12);
  const GemmOptions options{.backend = Backend::opencl};
  const KernelEntry* entry = select(backends, problem(), options).value();
  const auto candidates = explain_candidates(backends, problem(), options, *entry, DeviceChoice{});
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_EQ(candidates[0].reason, "lost: measured here: 1e+03 GFLOP/s against 2e+03");
  EXPECT_EQ(candidates[1].reason, "lost: estimated to take 0.667 times as long, not measured here");
  EXPECT_EQ(candidates[2].reason, "measured here: 2e+03 GFLOP/s, the fastest that was");
}

}  // namespace
}  // namespace exactile::plan
