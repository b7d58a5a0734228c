// SPDX-License-Identifier: Apache-2.0
/// \file
/// Into which tiles a product is cut, and how many panels of A and B the device keeps at a time. Pure arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plan/problem.hpp"
#include "staging/image.hpp"

namespace exactile::staging {

enum class Side : std::uint8_t { a, b, c, bias, row_scales, column_scales };
inline constexpr std::size_t sides = 6;
/// Slices of these travel with each tile of C.
inline constexpr std::array vector_sides{Side::bias, Side::row_scales, Side::column_scales};

/// The product as staging sees it.
struct HostProduct {
  explicit HostProduct(const plan::Problem& problem);
  [[nodiscard]] const HostOperand& operand(Side side) const;
  /// Whether the description has such an operand.
  [[nodiscard]] bool has(Side side) const;

  plan::Problem problem;
  HostOperand a;
  HostOperand b;
  HostOperand c;
  // m x 1 or 1 x n; they mean something only where has() says so.
  HostOperand bias;
  HostOperand row_scales;
  HostOperand column_scales;
};

/// The pointer of a side among a run's arguments.
[[nodiscard]] const void* data_of(const GemmArguments& arguments, Side side);
void set_data(GemmArguments& arguments, Side side, void* data);

/// What staging aims at where memory leaves the choice; tests make it small.
struct Limits {
  std::int64_t least_tile_edge = 768;    ///< of a tile of C: a quarter of a square C, so that much overlaps, ...
  std::int64_t most_tile_edge = 2048;    ///< ... but not more than what fills a device
  std::int64_t panel_bytes = 256 << 20;  ///< a panel is not made larger than that for the sake of a full tile
  std::int64_t group_bytes = 32 << 20;   ///< small products of a batch travel together
  std::int64_t whole_bytes = 8 << 20;    ///< up to here cutting costs more than overlap gives
  std::int64_t cut_k_edge = 256;         ///< K is cut before tiles get smaller
  std::int64_t edge_multiple = 128;
  std::int64_t one_piece_bytes = 1 << 20;      ///< up to here all operands travel at once
  std::int64_t least_chunk_bytes = 256 << 10;  ///< of the pinned ring: what one thread copies at a time
  std::int64_t most_chunk_bytes = 2 << 20;
  std::int64_t thread_bytes = 2 << 20;  ///< a thread more for so many bytes that go through the rings
  std::int64_t ring_slots = 32;         ///< a direction
};

/// C is cut into tiles; a panel is what a tile needs of A (its rows) or of B (its columns), k_tile terms deep. K is cut
/// only where whole panels do not fit. Slots hold one panel, or one tile of C, each.
struct Tiling {
  std::int64_t products = 1;  ///< of the batch, in one tile
  std::int64_t m_tile = 0;
  std::int64_t n_tile = 0;
  std::int64_t k_tile = 0;
  std::int64_t groups = 1;  ///< counts of tiles
  std::int64_t m_tiles = 1;
  std::int64_t n_tiles = 1;
  std::int64_t k_tiles = 1;
  std::int64_t a_slots = 1;
  std::int64_t b_slots = 1;
  std::int64_t c_slots = 1;
  std::int64_t a_slot_bytes = 0;
  std::int64_t b_slot_bytes = 0;
  std::int64_t c_slot_bytes = 0;
  std::array<std::int64_t, vector_sides.size()> vector_slot_bytes{};
  bool a_stays = true;          ///< a band of A's panels stays while B's stream by; else the other way round
  std::int64_t band_tiles = 1;  ///< tiles along that side in one band

  /// Of a side; what comes and goes with C has as many as C.
  [[nodiscard]] std::int64_t slots(Side side) const {
    switch (side) {
      case Side::a: return a_slots;
      case Side::b: return b_slots;
      default: return c_slots;
    }
  }
  [[nodiscard]] std::int64_t all_vectors_slot_bytes() const {
    std::int64_t bytes = 0;
    for (const std::int64_t one : vector_slot_bytes) bytes += one;
    return bytes;
  }

  [[nodiscard]] std::int64_t tiles() const { return groups * m_tiles * n_tiles; }
  [[nodiscard]] std::int64_t device_bytes() const {
    return a_slots * a_slot_bytes + b_slots * b_slot_bytes + c_slots * (c_slot_bytes + all_vectors_slot_bytes());
  }
};

/// The regions of a tile's operands; `k` counts chunks of K.
struct TileRegions {
  Region a;
  Region b;
  Region c;
  Region bias;
  Region row_scales;
  Region column_scales;

  [[nodiscard]] const Region& of(Side side) const;
};
[[nodiscard]] TileRegions regions_of(const plan::Problem& problem, const Tiling& tiling, std::int64_t group,
                                     std::int64_t i, std::int64_t j, std::int64_t k);

/// Nothing where not even the smallest tile fits into `budget` bytes.
[[nodiscard]] std::optional<Tiling> choose_tiling(const HostProduct& product, std::int64_t budget,
                                                  const Limits& limits = {});

}  // namespace exactile::staging
