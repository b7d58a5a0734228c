// SPDX-License-Identifier: Apache-2.0
// Every kernel of this machine with every type it has, and the planner's choice for every type.
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <string_view>

#include "kernels/groups.hpp"

namespace exactile::test {
namespace {

std::map<std::string, Tally>& tallies() {
  static std::map<std::string, Tally> all;
  return all;
}

struct Group {
  const char* suite;
  Tally (*check)(const KernelOfType&);
};
constexpr Group groups[] = {{"Shapes", check_shapes},   {"Depths", check_depths},       {"Layouts", check_layouts},
                            {"Scalars", check_scalars}, {"Epilogues", check_epilogues}, {"Batches", check_batches},
                            {"Fills", check_fills},     {"Scales", check_scales}};

void register_groups(const KernelOfType& kernel) {
  const auto add = [&](const char* suite, Tally (*check)(const KernelOfType&)) {
    register_test(suite, test_name(kernel), [kernel, check] {
      const Tally tally = check(kernel);
      Tally& total = tallies()[kernel.kernel];
      total.passed += tally.passed + tally.failed;
      total.unsupported += tally.unsupported;
    });
  };
  for (const Group& group : groups) add(group.suite, group.check);
  const bool tuned = kernel.types == GemmTypes{ElementType::f32, ElementType::f32} ||
                     kernel.types == GemmTypes{ElementType::f64, ElementType::f64};
  if (tuned) add("Tiny", check_tiny);
}

/// A kernel that refuses nearly everything passes every other test.
void check_that_kernels_take_their_share() {
  const bool is_shard = std::getenv("GTEST_TOTAL_SHARDS") != nullptr;  // which has some of a kernel's groups only
  for (const auto& [kernel, tally] : tallies()) {
    const int cases = tally.passed + tally.unsupported;
    if (cases < 100) continue;  // a filtered run
    EXPECT_GE(tally.passed, is_shard ? 1 : cases / 10)
        << "kernel '" << kernel << "' refused " << tally.unsupported << " of " << cases << " products";
  }
}

void check_that_the_cap_holds() {
  const char* cap = std::getenv("EXACTILE_MAX_ISA");
  const std::string_view widest = cap == nullptr ? "avx512" : cap;
  int seen = 0;
  for (const KernelInfo& kernel : kernels()) {
    const bool needs_avx512 = kernel.name.find("avx512") != std::string::npos;
    const bool needs_avx2 = kernel.name.find("avx2") != std::string::npos;
    if ((needs_avx512 && widest != "avx512") || (needs_avx2 && widest == "portable")) {
      EXPECT_FALSE(kernel.available) << kernel.name;
      EXPECT_FALSE(kernel.reason.empty()) << kernel.name;
      ++seen;
    }
    EXPECT_EQ(kernel.available, kernel.reason.empty()) << kernel.name << ": " << kernel.reason;
  }
  if (cap != nullptr && widest != "avx512") {
    EXPECT_GT(seen, 0) << "no kernel is kept away by EXACTILE_MAX_ISA";
  }
}

void register_all() {
  if (register_absence()) return;
  for (const KernelOfType& kernel : planner_for_all_types()) register_groups(kernel);
  for (const KernelOfType& kernel : available_kernels()) register_groups(kernel);
  register_test("Lists", "kernels_take_their_share", check_that_kernels_take_their_share);
  register_test("Lists", "isa_cap_holds", check_that_the_cap_holds);
}

const bool registered = (register_tests = register_all, true);

}  // namespace
}  // namespace exactile::test
