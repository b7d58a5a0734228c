// SPDX-License-Identifier: Apache-2.0
// Tilings and schedules as data: within the budget, complete, no slot overwritten too early, few bytes moved.
#include "staging/schedule.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "support/matrices.hpp"

namespace exactile::test {
namespace {

using staging::HostProduct;
using staging::Limits;
using staging::Step;
using staging::Tiling;

constexpr GemmTypes f32_types{ElementType::f32, ElementType::f32};
constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

HostProduct host_product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1,
                         GemmTypes types = f32_types) {
  return HostProduct({.description = contiguous(types, m, n, k, batch)});
}

/// Plays the schedule: each panel is where a step expects it, and was put there after the last step that used the slot.
class Player {
 public:
  explicit Player(std::int64_t slots) : panel_(static_cast<std::size_t>(slots), -1), users_(panel_.size()) {}

  void play(const staging::PanelUse& use, std::int64_t panel, std::int64_t step, int queue) {
    const auto slot = static_cast<std::size_t>(use.slot);
    ASSERT_LT(slot, panel_.size());
    if (use.loaded_by == step) {
      for (const auto& [user_queue, user] : users_[slot])
        EXPECT_GE(use.after[static_cast<std::size_t>(user_queue)], user) << "step " << step;
      panel_[slot] = panel;
      users_[slot].clear();
    }
    EXPECT_EQ(panel_[slot], panel) << "step " << step;
    users_[slot][queue] = step;
  }

 private:
  std::vector<std::int64_t> panel_;
  std::vector<std::map<int, std::int64_t>> users_;
};

void expect_sound(const HostProduct& product, const Tiling& t) {
  const std::vector<Step> schedule = make_schedule(product, t);
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> tiles;
  Player a(t.a_slots);
  Player b(t.b_slots);
  std::map<std::int64_t, std::int64_t> last_in_c_slot;
  for (std::size_t s = 0; s < schedule.size(); ++s) {
    const Step& step = schedule[s];
    const auto number = static_cast<std::int64_t>(s);
    EXPECT_EQ(step.starts_tile, step.k == 0);
    EXPECT_EQ(step.ends_tile, step.k == t.k_tiles - 1);
    if (step.starts_tile) {
      EXPECT_TRUE(tiles.emplace(step.group, step.i, step.j).second);
      const auto before = last_in_c_slot.find(step.c_slot);
      EXPECT_EQ(step.c_before, before == last_in_c_slot.end() ? -1 : before->second);
    } else {
      EXPECT_EQ(step.k, schedule[s - 1].k + 1);
      EXPECT_EQ(step.queue, schedule[s - 1].queue);
      EXPECT_EQ(step.c_slot, schedule[s - 1].c_slot);
    }
    if (step.ends_tile) last_in_c_slot[step.c_slot] = number;
    const auto panel = [&](bool shared, std::int64_t count, std::int64_t index) {
      return ((shared ? 0 : step.group) * count + index) * t.k_tiles + step.k;
    };
    a.play(step.a, panel(product.a.is_shared(), t.m_tiles, step.i), number, step.queue);
    b.play(step.b, panel(product.b.is_shared(), t.n_tiles, step.j), number, step.queue);
  }
  EXPECT_EQ(static_cast<std::int64_t>(tiles.size()), t.tiles());
}

TEST(Tiling, KeepsToItsBudgetAndSchedulesAreSound) {
  std::mt19937_64 random(1);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  int banded = 0;
  int cut = 0;
  for (int round = 0; round < 2000; ++round) {
    const HostProduct product = host_product(between(1, 900), between(1, 900), between(1, 900), between(1, 4));
    const std::int64_t budget = between(100 << 10, 4 << 20);
    const Limits limits{
        .least_tile_edge = 48, .most_tile_edge = 64, .whole_bytes = 1 << 16, .cut_k_edge = 16, .edge_multiple = 8};
    const auto tiling = choose_tiling(product, budget, limits);
    ASSERT_TRUE(tiling.has_value());
    EXPECT_LE(tiling->device_bytes(), budget);
    banded += tiling->band_tiles < (tiling->a_stays ? tiling->m_tiles : tiling->n_tiles);
    cut += tiling->k_tiles > 1;
    expect_sound(product, *tiling);
  }
  EXPECT_GT(banded, 20);
  EXPECT_GT(cut, 20);
}

TEST(Tiling, WholePanelsWherePossible) {
  const HostProduct product = host_product(32768, 32768, 32768);
  const auto roomy = choose_tiling(product, 130 * gibibyte);
  ASSERT_TRUE(roomy.has_value());
  EXPECT_EQ(roomy->k_tiles, 1);
  EXPECT_EQ(roomy->m_tile, 2048);
  EXPECT_EQ(roomy->n_tile, 2048);
  const staging::Moves once = count_moves(make_schedule(product, *roomy));
  EXPECT_EQ(once.a, 16);
  EXPECT_EQ(once.b, 16);
}

TEST(Tiling, AnOperandThatFitsMovesOnceAndTheOtherStreams) {
  // A and B are 4 GiB each; 6 GiB hold one of them and some panels of the other.
  const HostProduct product = host_product(32768, 32768, 32768);
  const auto tiling = choose_tiling(product, 6 * gibibyte);
  ASSERT_TRUE(tiling.has_value());
  const staging::Moves moves = count_moves(make_schedule(product, *tiling));
  EXPECT_EQ(moves.a, 16);
  EXPECT_EQ(moves.b, 16);
}

TEST(Tiling, BeyondMemoryBandsMeetTheOtherOperandOnceEach) {
  // 64 GiB of A, B and C each; the device holds 40 GiB.
  const HostProduct product = host_product(131072, 131072, 131072);
  const auto tiling = choose_tiling(product, 40 * gibibyte);
  ASSERT_TRUE(tiling.has_value());
  const staging::Moves moves = count_moves(make_schedule(product, *tiling));
  const std::int64_t bands = (64 + tiling->band_tiles - 1) / tiling->band_tiles;
  EXPECT_EQ(bands, 2);
  EXPECT_LE(moves.a + moves.b, 64 * (1 + bands));
}

TEST(Tiling, NarrowOutputsAreNeverCutAlongK) {
  const HostProduct product = host_product(500, 500, 100000, 1, {ElementType::f16, ElementType::f16});
  const auto tiling = choose_tiling(product, 8 << 20);
  ASSERT_TRUE(tiling.has_value());
  EXPECT_EQ(tiling->k_tiles, 1);
}

TEST(Tiling, CertifiedAndReproducibleSumsAreNeverCutAlongK) {
  const auto k_tiles = [](Accuracy accuracy, bool reproducible) {
    const HostProduct product(
        {.description = contiguous(f32_types, 500, 500, 100000), .accuracy = accuracy, .reproducible = reproducible});
    const auto tiling = choose_tiling(product, 8 << 20);
    return tiling ? tiling->k_tiles : 0;
  };
  EXPECT_GT(k_tiles(Accuracy::standard, false), 1);
  EXPECT_EQ(k_tiles(Accuracy::correctly_rounded, false), 1);
  EXPECT_EQ(k_tiles(Accuracy::standard, true), 1);
}

TEST(Tiling, SmallProductsOfABatchTravelTogether) {
  const auto tiling = choose_tiling(host_product(9, 9, 9, 100000), gibibyte);
  ASSERT_TRUE(tiling.has_value());
  EXPECT_GT(tiling->products, 1000);
  EXPECT_GT(tiling->groups, 1);
}

}  // namespace
}  // namespace exactile::test
