// SPDX-License-Identifier: Apache-2.0
// The CPU's cost model: rates as rows, rates from times, and whose bits leave the choice to costs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "cpu/caches.hpp"
#include "cpu/kernel_list.hpp"
#include "cpu/model/fit.hpp"
#include "cpu/model/rows.hpp"
#include "cpu/model/team.hpp"
#include "cpu/order_of_sums.hpp"
#include "tuning/table/table.hpp"

namespace exactile::cpu {
namespace {

constexpr RatesKey one{"direct", Isa::avx2, ElementType::f32};
constexpr RatesKey other{"packed", Isa::avx2, ElementType::f32};

Rates rates(double cycle, double byte, double start) {
  Rates r;
  r.seconds[static_cast<std::size_t>(Work::far_cycles)] = cycle;
  r.seconds[static_cast<std::size_t>(Work::read_bytes)] = byte;
  r.seconds[static_cast<std::size_t>(Work::starts)] = start;
  r.overlap = 0.5;
  return r;
}

plan::Problem problem_of(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.description = {.types = types, .m = m, .n = n, .k = k, .a = {k, 1}, .b = {1, k}, .c = {n, 1}}};
}

TEST(CostModel, RatesAreFoundFromTimes) {
  const Rates truth[] = {rates(0.4e-9, 0.05e-9, 20e-9), rates(0.3e-9, 0.03e-9, 900e-9)};
  std::mt19937 dice(5);
  std::lognormal_distribution<double> cycles(8, 2), bytes(9, 2);
  std::vector<TimedProduct> products;
  for (int i = 0; i < 120; ++i) {
    TimedProduct product{
        .types = {ElementType::f32, ElementType::f32}, .is_fitted_to = i % 4 != 0, .sums_differ = false, .kernels = {}};
    Demand demand;
    demand[Work::far_cycles] = cycles(dice);
    demand[Work::read_bytes] = bytes(dice);
    demand[Work::starts] = 1;
    for (const RatesKey& key : {one, other})
      product.kernels.push_back({key, demand, demand, seconds(demand, truth[key == one ? 0 : 1]), true});
    products.push_back(product);
  }
  const std::vector<FittedRates> fitted = fit(products);
  ASSERT_EQ(fitted.size(), 2U);
  for (const FittedRates& f : fitted)
    for (const TimedProduct& product : products)
      for (const auto& kernel : product.kernels)
        if (kernel.key == f.key) {
          EXPECT_NEAR(seconds(kernel.demand, f.rates) / kernel.seconds, 1, 0.1);
        }
  const std::vector<ChoiceQuality> quality = quality_of(products, fitted);
  ASSERT_EQ(quality.size(), 1U);
  EXPECT_EQ(quality[0].products, 30);
  EXPECT_LT(quality[0].worst, 1.1);
  EXPECT_GT(quality_of(products, {{one, rates(1, 1, 1)}, {other, truth[1]}})[0].worst, 1.5);  // all go to the other
}

/// The widest kernel wins every product. Of the others one is a little faster in more than half, which is where its
/// estimate lies, and far slower in the rest, as no demand tells: only races without the widest say that it loses.
TEST(CostModel, RatesChooseForEveryInstructionSet) {
  constexpr RatesKey keys[] = {one, other, {"near", Isa::amx, ElementType::f32}};
  std::mt19937 dice(6);
  std::lognormal_distribution<double> cycles(8, 2);
  std::bernoulli_distribution is_slow(0.48);
  std::vector<TimedProduct> products;
  for (int i = 0; i < 1200; ++i) {
    TimedProduct product{
        .types = {ElementType::f32, ElementType::f32}, .is_fitted_to = true, .sums_differ = false, .kernels = {}};
    Demand demand;
    demand[Work::far_cycles] = cycles(dice);
    const double of_a_cycle[] = {is_slow(dice) ? 2.0 : 0.75, 0.8, 0.1};
    for (int k = 0; k < 3; ++k)
      product.kernels.push_back({keys[k], demand, demand, demand[Work::far_cycles] * of_a_cycle[k] * 1e-9, true});
    products.push_back(product);
  }
  const std::vector<FittedRates> fitted = fit(products);
  ASSERT_EQ(fitted.size(), 3U);
  for (TimedProduct& product : products) {
    product.is_fitted_to = false;
    product.kernels.pop_back();
  }
  EXPECT_LT(quality_of(products, fitted).at(0).mean, 1.05);  // 1.03 of the steady kernel, 1.5 of the other
}

/// Threads are worth more to the one kernel than to the other, and an order of sums is chosen without them.
TEST(CostModel, AnOrderOfSumsIsChosenForTheProductAlone) {
  constexpr RatesKey vectors{"vectors", Isa::avx2, ElementType::f32};
  constexpr RatesKey deep{"deep", Isa::avx2, ElementType::f32};
  const Rates per_cycle = rates(1e-9, 0, 0);
  const auto cycles = [](double count, int threads) {
    Demand demand;
    demand[Work::far_cycles] = count;
    demand.threads = threads;
    return demand;
  };
  TimedProduct product{.types = {ElementType::f32, ElementType::f32},
                       .is_fitted_to = false,
                       .sums_differ = true,
                       .kernels = {{vectors, cycles(1000, 1), cycles(1000, 1), 1000e-9, true},
                                   {deep, cycles(1600, 2), cycles(1600, 1), 800e-9, true},
                                   {one, cycles(1400, 1), cycles(1400, 1), 1400e-9, true}}};
  const auto worst = [&] {
    return quality_of({product}, {{vectors, per_cycle}, {deep, per_cycle}, {one, per_cycle}}).at(0).worst;
  };
  EXPECT_NEAR(worst(), 1000.0 / 800, 1e-9);  // the vectors alone are the fastest
  product.kernels[0].alone = cycles(1500, 1);
  EXPECT_NEAR(worst(), 1, 1e-9);  // the others are, and of these the fastest with threads is taken
  product.kernels[0].alone = cycles(1000, 1);
  product.sums_differ = false;
  EXPECT_NEAR(worst(), 1, 1e-9);
}

TEST(CostModel, RowsHoldRates) {
  const std::string file = std::filesystem::temp_directory_path() / ("exactile-rates-" + std::to_string(getpid()));
  setenv("EXACTILE_TUNING_DB", file.c_str(), 1);
  const Rates shipped = rates_of(one);
  const Rates mine = rates(0.7e-9, 0.06e-9, 30e-9);
  EXPECT_NE(shipped.seconds, mine.seconds);
  for (const Rates& kept : {rates(1e-9, 1e-9, 1e-9), mine})
    ASSERT_TRUE(tuning::replace_rows(file, {row_of(one, kept)}).ok());
  EXPECT_EQ(tuning::read_file(file).rows.size(), 1U);
  const Rates read = rates_of(one);
  for (int w = 0; w < work_count; ++w)
    EXPECT_NEAR(read.seconds[static_cast<std::size_t>(w)], mine.seconds[static_cast<std::size_t>(w)], 1e-15);
  EXPECT_EQ(read.overlap, mine.overlap);
  EXPECT_EQ(rates_of(other).seconds, rates_of({"packed", Isa::avx2, ElementType::f32}).seconds);
  unsetenv("EXACTILE_TUNING_DB");
  std::filesystem::remove(file);
  std::filesystem::remove(file + ".lock");
  EXPECT_EQ(rates_of(one).seconds, shipped.seconds);
}

TEST(CostModel, EveryFamilyHasRatesOnAnyProcessor) {
  int families = 0;
  for (const plan::KernelEntry& entry : kernel_list()) {
    const plan::Problem problem = problem_of(entry.types.front(), 40, 8, 130);
    if (!entry.unavailable(0).empty() || !entry.refuses(problem).empty()) continue;
    latest_estimate() = {};
    const double cost = entry.cost(problem);
    const RatesKey key = latest_estimate().key;
    if (key.family.empty()) continue;
    ++families;
    EXPECT_GT(cost, 0) << entry.name;
    const Rates any = rates_of({key.family, Isa::portable, key.input});  // of which nothing was ever measured
    EXPECT_GT(any.seconds[static_cast<std::size_t>(Work::starts)], 0) << entry.name;
    EXPECT_GT(seconds(latest_estimate().demand, any), any.seconds[static_cast<std::size_t>(Work::starts)])
        << entry.name;
  }
  if (widest_isa() != Isa::portable) {
    EXPECT_GT(families, 20);
  }
}

/// Of every product with few rows or terms some kernels compete, of one order where orders differ: with floats that is
/// decided.
TEST(CostModel, KernelsOfOneOrderCompete) {
  for (const GemmTypes types : all_gemm_types())
    for (const auto& [m, n, k] :
         {std::array{1, 300, 2000}, {7, 300, 20}, {2, 5, 9000}, {8, 40, 100}, {14, 512, 1200}, {60, 70, 20}}) {
      const plan::Problem problem = problem_of(types, m, n, k);
      if (widest_isa() == Isa::portable || !sums_may_differ(problem)) continue;
      int competing = 0;
      for (const plan::KernelEntry& entry : kernel_list()) {
        if (entry.role != "engine" || entry.certifies || !entry.unavailable(0).empty()) continue;
        if (std::ranges::find(entry.types, types) == entry.types.end() || !entry.refuses(problem).empty()) continue;
        if (!entry.gives_way(problem).empty()) continue;
        ++competing;
        EXPECT_EQ(entry.name.ends_with("_vectors"), sums_as_vectors(problem)) << entry.name << " " << to_string(types);
        EXPECT_EQ(entry.name.starts_with("amx_bf16"), sums_in_tiles(problem)) << entry.name << " " << to_string(types);
      }
      EXPECT_GT(competing, 0) << to_string(types) << " " << m << " x " << n << " x " << k;
    }
}

/// Whatever shares a product out among threads counts the teams that do.
TEST(CostModel, TeamsMeet) {
  int teams = 0;
  for (const plan::KernelEntry& entry : kernel_list()) {
    plan::Problem problem = problem_of(entry.types.front(), 7, 4096, 4096);
    problem.description.b = {4096, 1};
    if (!entry.unavailable(0).empty() || !entry.refuses(problem).empty()) continue;
    latest_estimate() = {};
    const auto demand_of = [&](int threads) {
      problem.threads = threads;
      static_cast<void>(entry.cost(problem));
      return latest_estimate().demand;
    };
    const Demand of_one = demand_of(1);
    EXPECT_EQ(of_one.teams + of_one.meetings, 0) << entry.name;
    const Demand of_two = demand_of(2);
    if (of_two.threads < 2) continue;
    EXPECT_GT(of_two.teams, 0) << entry.name;
    ++teams;
  }
  if (widest_isa() != Isa::portable) {
    EXPECT_GT(teams, 10);
  }
}

/// More threads for more work, as long as there are parts; none is woken for what is done before it would wake.
TEST(CostModel, WorkDecidesHowManyThreads) {
  constexpr std::int64_t many = 1000;
  EXPECT_EQ(useful_threads(1e3, many, 16), 1);
  EXPECT_EQ(useful_threads(1e10, many, 16), 16);
  EXPECT_EQ(useful_threads(1e10, many, 12), 12);
  EXPECT_EQ(useful_threads(1e10, 3, 16), 3);
  EXPECT_EQ(useful_threads(1e10, 0, 16), 1);
  int before = 1;
  for (double cycles = 1e3; cycles < 1e8; cycles *= 1.5) {
    const int threads = useful_threads(cycles, many, 16);
    EXPECT_GE(threads, before) << cycles;
    before = threads;
  }
}

/// What no thread would be woken for is shared by a team that is fixed, and prepared for it.
TEST(CostModel, AFixedTeamIsTaken) {
  int teams = 0;
  for (const plan::KernelEntry& entry : kernel_list()) {
    plan::Problem problem = problem_of(entry.types.front(), 32, 32, 2);
    problem.threads = 4;
    if (!entry.unavailable(0).empty() || !entry.refuses(problem).empty()) continue;
    const auto threads = [&] {
      static_cast<void>(entry.cost(problem));
      return latest_estimate().demand.threads;
    };
    latest_estimate() = {};
    EXPECT_EQ(threads(), 1) << entry.name;
    if (latest_estimate().key.family.empty()) continue;  // without rates
    problem.is_team_fixed = true;
    const int team = threads();
    EXPECT_EQ(entry.prepare(problem)->threads(), team) << entry.name;
    teams += team > 1 ? 1 : 0;
  }
  if (widest_isa() != Isa::portable) {
    EXPECT_GT(teams, 5);
  }
}

/// Columns a power of two apart meet few sets of L1: what reads operands in place waits there.
TEST(CostModel, RowsThatDisplaceOneAnotherAreCounted) {
  int judged = 0;
  for (const plan::KernelEntry& entry : kernel_list()) {
    const bool is_deep = entry.name.ends_with("_deep");
    if ((!is_deep && !entry.name.ends_with("_direct")) || !entry.unavailable(0).empty()) continue;
    const GemmTypes types = entry.types.front();
    if (!is_floating(types.input) || size_in_bytes(types.input) < 4) continue;  // others are packed
    const auto displaced = [&](std::int64_t distance, bool b_by_rows) {
      plan::Problem problem = problem_of(types, 32, 200, 32);
      problem.description.a = problem.description.c = {1, distance};
      problem.description.b = b_by_rows ? OperandLayout{distance, 1} : OperandLayout{1, distance};
      static_cast<void>(entry.cost(problem));
      return latest_estimate().demand[Work::displaced_rows];
    };
    EXPECT_GT(displaced(2048, false), 0) << entry.name;
    EXPECT_EQ(displaced(2000, false), 0) << entry.name;
    if (is_deep) {
      EXPECT_GT(displaced(2048, true), displaced(2048, false)) << entry.name;  // of both operands
    }
    ++judged;
  }
  if (widest_isa() != Isa::portable) {
    EXPECT_GE(judged, 8);
  }
}

/// A B that is walked down its rows: prefetchers follow rows that share a page, or tiles of many rows ask.
TEST(CostModel, LinesThatNothingAsksForAreReadAgain) {
  int judged = 0;
  for (const plan::KernelEntry& entry : kernel_list()) {
    const bool reads_in_place = entry.name.ends_with("_deep") || entry.name.ends_with("_direct");
    const GemmTypes types = entry.types.front();
    if (!reads_in_place || !entry.unavailable(0).empty() || size_in_bytes(types.input) < 4) continue;
    if (types.input == ElementType::i32 && types.output == ElementType::i64) continue;  // always packed
    const auto reread = [&](std::int64_t m, std::int64_t n, std::int64_t distance) {
      plan::Problem problem = problem_of(types, m, n, 600);
      problem.description.b = {distance, 1};
      static_cast<void>(entry.cost(problem));
      return latest_estimate().demand[Work::reread_bytes];
    };
    EXPECT_GT(reread(1, 64, 4096), reread(1, 64, 64)) << entry.name;
    const std::int64_t many = 2 * caches().l2 / 600;  // columns of which L2 does not hold 600 elements each
    const auto bytes = static_cast<double>(600 * many * size_in_bytes(types.input));
    EXPECT_GE(reread(1, many, many), bytes) << entry.name;
    EXPECT_LT(reread(24, many, many), bytes) << entry.name;
    ++judged;
  }
  if (widest_isa() != Isa::portable) {
    EXPECT_GE(judged, 8);
  }
}

TEST(CostModel, KernelsOfATypeAreThoseOfTheList) {
  for (const GemmTypes types : all_gemm_types()) {
    std::vector<const plan::KernelEntry*> expected;
    for (const plan::KernelEntry& entry : kernel_list())
      if (std::ranges::find(entry.types, types) != entry.types.end()) expected.push_back(&entry);
    const auto found = kernels_of(types);
    EXPECT_TRUE(std::ranges::equal(found, expected)) << to_string(types);
  }
}

TEST(CostModel, DecidesWhereAllOrdersLeaveTheSameBits) {
  for (const GemmTypes types : {GemmTypes{ElementType::i8, ElementType::i32}, {ElementType::i32, ElementType::i32}})
    for (const plan::KernelEntry& entry : kernel_list()) {
      if (entry.role != "engine" || entry.certifies || entry.name == "portable_blocked") continue;
      if (std::ranges::find(entry.types, types) == entry.types.end() || !entry.unavailable(0).empty()) continue;
      for (const std::int64_t k : {3, 3000})
        EXPECT_EQ(entry.gives_way(problem_of(types, 5, 64, k)), "") << entry.name << " k=" << k;
    }
}

}  // namespace
}  // namespace exactile::cpu
