// SPDX-License-Identifier: Apache-2.0
#include "staging/schedule.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace exactile::staging {
namespace {

struct Tile {
  std::int64_t stays;    // along the side whose band stays
  std::int64_t streams;  // along the other
};

/// The tiles [first, last) x [0, streams) of one band.
void order_band(std::int64_t first, std::int64_t last, std::int64_t streams, std::int64_t kept, bool backwards,
                std::vector<Tile>& order) {
  const auto stream = [&](std::int64_t s) { return backwards ? streams - 1 - s : s; };
  const std::int64_t square = std::min({last - first, streams, kept});
  for (std::int64_t size = 0; size < square; ++size) {
    for (std::int64_t s = 0; s < size; ++s) order.push_back({first + size, stream(s)});
    for (std::int64_t r = 0; r <= size; ++r) order.push_back({first + r, stream(size)});
  }
  for (std::int64_t r = first + square; r < last; ++r)
    for (std::int64_t s = 0; s < square; ++s) order.push_back({r, stream(s)});
  for (std::int64_t s = square; s < streams; ++s)
    for (std::int64_t r = first; r < last; ++r) order.push_back({r, stream(s)});
}

std::vector<Tile> order_plane(const Tiling& t) {
  const std::int64_t stays = t.a_stays ? t.m_tiles : t.n_tiles;
  const std::int64_t streams = t.a_stays ? t.n_tiles : t.m_tiles;
  // Of the side that streams so many stay long enough to be met by every panel of the growing square.
  const std::int64_t kept = std::max<std::int64_t>(1, (t.a_stays ? t.b_slots : t.a_slots) / t.k_tiles - 1);
  const std::int64_t slots = t.a_stays ? t.b_slots : t.a_slots;
  std::vector<Tile> order;
  bool backwards = false;
  for (std::int64_t first = 0; first < stays; first += t.band_tiles) {
    const std::int64_t last = std::min(stays, first + t.band_tiles);
    order_band(first, last, streams, slots >= streams * t.k_tiles ? streams : kept, backwards, order);
    backwards = !backwards;
  }
  return order;
}

/// Gives slots to panels: one that is still there is used again, else the slot goes whose panel is needed last.
class Slots {
 public:
  /// `uses` has the panel of each step.
  Slots(std::int64_t count, const std::vector<std::int64_t>& uses)
      : slots_(static_cast<std::size_t>(count)), next_use_(uses.size()) {
    std::unordered_map<std::int64_t, std::int64_t> next;
    for (std::size_t step = uses.size(); step-- > 0;) {
      const auto [place, is_new] = next.try_emplace(uses[step], never);
      next_use_[step] = place->second;
      place->second = static_cast<std::int64_t>(step);
    }
  }

  PanelUse use(std::int64_t panel, std::int64_t step, int queue) {
    PanelUse result;
    auto found = std::ranges::find(slots_, panel, &Slot::panel);
    if (found == slots_.end()) {
      found = std::ranges::max_element(slots_, std::less<>(), [](const Slot& s) {
        return std::pair(s.next_use, -s.last_use);  // among equals the one that has rested longest
      });
      result.after = found->after;
      *found = {.panel = panel, .loaded_by = step};
    }
    result.slot = found - slots_.begin();
    result.loaded_by = found->loaded_by;
    found->next_use = next_use_[static_cast<std::size_t>(step)];
    found->last_use = step;
    found->after[static_cast<std::size_t>(queue)] = step;
    return result;
  }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  struct Slot {
    std::int64_t panel = -1;
    std::int64_t loaded_by = -1;
    std::int64_t next_use = never;
    std::int64_t last_use = -1;
    After after{-1, -1};
  };
  std::vector<Slot> slots_;
  std::vector<std::int64_t> next_use_;
};

}  // namespace

std::vector<Step> make_schedule(const HostProduct& product, const Tiling& t) {
  const std::vector<Tile> plane = order_plane(t);
  std::vector<Step> steps;
  std::vector<std::int64_t> a_uses;
  std::vector<std::int64_t> b_uses;
  const auto count = static_cast<std::size_t>(t.tiles() * t.k_tiles);
  steps.reserve(count);
  a_uses.reserve(count);
  b_uses.reserve(count);
  std::vector<std::int64_t> last_in_slot(static_cast<std::size_t>(t.c_slots), -1);
  std::int64_t tile_number = 0;
  for (std::int64_t group = 0; group < t.groups; ++group) {
    for (const Tile& tile : plane) {
      const auto c_slot = static_cast<std::size_t>(tile_number % t.c_slots);
      for (std::int64_t k = 0; k < t.k_tiles; ++k) {
        Step step{.group = group,
                  .i = t.a_stays ? tile.stays : tile.streams,
                  .j = t.a_stays ? tile.streams : tile.stays,
                  .k = k,
                  .a = {},
                  .b = {},
                  .c_slot = static_cast<std::int64_t>(c_slot),
                  .c_before = last_in_slot[c_slot],
                  .queue = static_cast<int>(tile_number % compute_queues),
                  .starts_tile = k == 0,
                  .ends_tile = k == t.k_tiles - 1};
        a_uses.push_back(((product.a.is_shared() ? 0 : group) * t.m_tiles + step.i) * t.k_tiles + k);
        b_uses.push_back(((product.b.is_shared() ? 0 : group) * t.n_tiles + step.j) * t.k_tiles + k);
        steps.push_back(step);
      }
      last_in_slot[c_slot] = static_cast<std::int64_t>(steps.size()) - 1;
      ++tile_number;
    }
  }
  Slots a_slots(t.a_slots, a_uses);
  Slots b_slots(t.b_slots, b_uses);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    steps[s].a = a_slots.use(a_uses[s], static_cast<std::int64_t>(s), steps[s].queue);
    steps[s].b = b_slots.use(b_uses[s], static_cast<std::int64_t>(s), steps[s].queue);
  }
  return steps;
}

Moves count_moves(const std::vector<Step>& schedule) {
  Moves moves;
  for (std::size_t s = 0; s < schedule.size(); ++s) {
    moves.a += schedule[s].a.loaded_by == static_cast<std::int64_t>(s);
    moves.b += schedule[s].b.loaded_by == static_cast<std::int64_t>(s);
  }
  return moves;
}

}  // namespace exactile::staging
