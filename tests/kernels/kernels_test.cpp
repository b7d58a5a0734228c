// SPDX-License-Identifier: Apache-2.0
// Every kernel of this machine with every type it has, and the planner's choice for every type.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
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
      total.passed += tally.passed + tally.failed + tally.left_out;
      total.unsupported += tally.unsupported;
    });
  };
  for (const Group& group : groups) add(group.suite, group.check);
  // Not tallied: a kernel conjugates or it does not.
  if (is_complex(kernel.types.input))
    register_test("Conjugates", test_name(kernel), [kernel] { static_cast<void>(check_conjugates(kernel)); });
  // On CUDA the test `Exhaustively` of tests/gpu has all of these sizes and more.
  const bool tuned =
      tested_options().backend != Backend::cuda && (kernel.types == GemmTypes{ElementType::f32, ElementType::f32} ||
                                                    kernel.types == GemmTypes{ElementType::f64, ElementType::f64});
  // Not tallied: thousands of products that kernels for large ones refuse, and those for small ones take.
  if (tuned) register_test("Tiny", test_name(kernel), [kernel] { static_cast<void>(check_tiny(kernel)); });
}

/// The configurations of a kernel share its code but for the tile: each goes through the shapes, and through two of the
/// other groups, so that three neighbours go through all.
void register_some_groups(const KernelOfType& kernel, std::size_t turn) {
  for (std::size_t i = 0; i < std::size(groups); ++i)
    if (i == 0 || i % 3 == turn % 3)
      register_test(groups[i].suite, test_name(kernel),
                    [kernel, check = groups[i].check] { static_cast<void>(check(kernel)); });
}

/// A kernel that refuses nearly everything passes every other test.
void check_that_kernels_take_their_share() {
  if (std::getenv("GTEST_TOTAL_SHARDS") != nullptr)
    GTEST_SKIP() << "a shard of GoogleTest's has some groups of a kernel only: EXACTILE_TEST_KERNELS deals out kernels";
  for (const auto& [kernel, tally] : tallies()) {
    const int cases = tally.passed + tally.unsupported;
    if (cases < 100) continue;  // a filtered run
    // outer_product, for K = 1, takes 9.9 % of them.
    EXPECT_GE(tally.passed, cases / 11) << "kernel '" << kernel << "' refused " << tally.unsupported << " of " << cases
                                        << " products";
  }
}

void check_that_the_cap_holds() {
  const char* cap = std::getenv("EXACTILE_MAX_ISA");
  const std::string_view widest = cap == nullptr ? "avx512" : cap;
  int seen = 0;
  for (const KernelInfo& kernel : kernels()) {
    const auto needs = [&](std::string_view isa) { return kernel.name.find(isa) != std::string::npos; };
    const bool is_kept_away = (needs("avx512") && !widest.starts_with("avx512")) ||
                              (needs("vnni") && widest == "avx512") || (needs("bf16_pairs") && widest == "avx512") ||
                              (needs("avx2") && widest == "portable");
    if (is_kept_away && cap != nullptr) {
      EXPECT_FALSE(kernel.available) << kernel.name;
      EXPECT_FALSE(kernel.reason.empty()) << kernel.name;
      ++seen;
    }
    EXPECT_EQ(kernel.available, kernel.reason.empty()) << kernel.name << ": " << kernel.reason;
  }
  if (cap != nullptr && !widest.starts_with("avx512_")) {
    EXPECT_GT(seen, 0) << "no kernel is kept away by EXACTILE_MAX_ISA";
  }
}

/// EXACTILE_TEST_KERNELS=i/n: every n-th kernel from the i-th on, whole, so that what it refuses can be counted;
/// GoogleTest's own shards would deal out its groups. The planner's types and the pinned configurations are dealt out
/// one by one.
class Share {
 public:
  Share() {
    const char* const text = std::getenv("EXACTILE_TEST_KERNELS");
    if (text == nullptr) return;
    if (std::sscanf(text, "%zu/%zu", &index_, &count_) != 2 || index_ >= count_)
      throw std::invalid_argument(fmt::format("EXACTILE_TEST_KERNELS = {}: expected i/n with i < n", text));
  }
  [[nodiscard]] bool has(const KernelOfType& kernel) {
    const bool is_whole = !kernel.kernel.empty() && kernel.parameters.empty();
    const std::string key = is_whole ? kernel.kernel : test_name(kernel);
    return seen_.try_emplace(key, seen_.size()).first->second % count_ == index_;
  }

 private:
  std::size_t index_ = 0;
  std::size_t count_ = 1;
  std::map<std::string, std::size_t> seen_;
};

void register_all() {
  if (register_absence()) return;
  Share share;
  for (const auto& kernels : {planner_for_all_types(), available_kernels()})
    for (const KernelOfType& kernel : kernels)
      if (share.has(kernel)) register_groups(kernel);
  std::size_t turn = 0;
  for (const KernelOfType& configuration : available_configurations()) {
    if (share.has(configuration)) register_some_groups(configuration, turn);
    ++turn;
  }
  register_test("Lists", "kernels_take_their_share", check_that_kernels_take_their_share);
  register_test("Lists", "isa_cap_holds", check_that_the_cap_holds);
}

const bool registered = (register_tests = register_all, true);

}  // namespace
}  // namespace exactile::test
