// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cases of the verification room as assertions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exactile/exactile.hpp"
#include "verification/verification.hpp"

namespace exactile::test {

/// Which backend the walks test: EXACTILE_TEST_BACKEND, by default the planner's free choice among the CPU's kernels.
/// A device's kernels get their operands in its memory, unless EXACTILE_TEST_MEMORY is host.
[[nodiscard]] const GemmOptions& tested_options();

/// Row-major, contiguous, alpha = 1, beta = 0, normal numbers; with tested_options().
[[nodiscard]] verification::Case contiguous_case(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k);

enum class Outcome : std::uint8_t { passed, failed, unsupported };

/// Runs the case; a failure is reported with the line that reproduces it. `unsupported` is no failure where the case
/// names a kernel: a kernel may refuse.
Outcome check_case(const verification::Case& test);

/// Counts of what check_case() answered, and of cases that a walk left out though the kernel takes them.
struct Tally {
  int passed = 0;
  int failed = 0;
  int unsupported = 0;
  int left_out = 0;
  void operator+=(Outcome outcome);
};

/// A kernel of this machine with one of its types, and the accuracy to ask of it; an empty name is the planner's
/// choice.
struct KernelOfType {
  std::string kernel;
  GemmTypes types;
  Accuracy accuracy = Accuracy::standard;
  std::string parameters = {};  ///< of a kernel with configurations: the one that is pinned; "": the planner's choice
};
/// `standard`, unless the kernel refuses that of products that it takes under `reduced` or `correctly_rounded`.
[[nodiscard]] Accuracy accuracy_kept(const KernelInfo& kernel, GemmTypes types);
/// Every available kernel of the tested backend times every type it has.
[[nodiscard]] std::vector<KernelOfType> available_kernels();
/// Which of its kernel's types this is, and of how many; the planner's are on their own.
struct TurnOfType {
  std::int64_t index = 0;
  std::int64_t count = 1;
};
[[nodiscard]] TurnOfType turn_of_type(const KernelOfType& kernel);
/// What a kernel is compiled for in these types, where that is more than one configuration.
[[nodiscard]] std::vector<std::string> pinnable_parameters(const std::string& kernel, GemmTypes types);
/// EXACTILE_TEST_ALL_CONFIGURATIONS=1: every configuration with every type, and nothing left to the lot.
[[nodiscard]] bool tests_all();
/// Every configuration of a kernel that has several, pinned, with one of the kernel's types: they are dealt out in
/// turn, as the types share a configuration's code but for the loads and stores; each with every type if tests_all().
[[nodiscard]] std::vector<KernelOfType> configurations_of(const KernelInfo& kernel);
/// Those of every available kernel of the tested backend.
[[nodiscard]] std::vector<KernelOfType> available_configurations();
/// The planner's choice for every type of the tested backend, and under `reduced` where that differs from `standard`.
[[nodiscard]] std::vector<KernelOfType> planner_for_all_types();

/// Whether the kernel takes a product of contiguous matrices.
[[nodiscard]] bool takes(const KernelOfType& kernel, std::int64_t m, std::int64_t n, std::int64_t k);

/// Block sizes as the plan's summary states them; 0 where it does not.
struct Blocking {
  std::int64_t mr = 0;
  std::int64_t nr = 0;
  std::int64_t mc = 0;
  std::int64_t kc = 0;
  std::int64_t nc = 0;
};
[[nodiscard]] Blocking blocking_of(const KernelOfType& kernel, std::int64_t m, std::int64_t n, std::int64_t k);

/// "avx512_f32_fma/f32" made fit for a test's name.
[[nodiscard]] std::string test_name(const KernelOfType& kernel);

/// Registers one test that is skipped and says why, where the tested backend has no device here; answers whether it
/// did.
bool register_absence();

/// Registers `body` as the test `suite`.`name`.
void register_test(const std::string& suite, const std::string& name, std::function<void()> body);

/// The environment variable as a number, or the fallback.
[[nodiscard]] std::uint64_t number_from_environment(const char* name, std::uint64_t fallback);

/// What a crash handler may print: the line that reproduces the case now running.
void announce(const std::string& line);

/// Called by main() after GoogleTest is ready; a binary that registers tests at run time defines it, others need not.
extern void (*register_tests)();

}  // namespace exactile::test
