// SPDX-License-Identifier: Apache-2.0
#include "staging/tiling.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "plan/scales.hpp"

namespace exactile::staging {
namespace {

constexpr std::int64_t slot_alignment = 4096;
constexpr std::int64_t most_c_slots = 6;
constexpr std::int64_t streaming_slots = 3;  // one in use, one arriving, one not yet given up

/// Cuts `extent` into about extent/wish equal pieces, so that no small rest is left.
std::int64_t even_piece(std::int64_t extent, std::int64_t wish, std::int64_t multiple) {
  const std::int64_t pieces = std::max<std::int64_t>(1, (extent + wish / 2) / wish);
  return std::min(extent, core::round_up(core::ceil_divide(extent, pieces), multiple));
}

Region whole(std::int64_t rows, std::int64_t columns, std::int64_t products) {
  return {.rows = rows, .columns = columns, .products = products};
}

std::int64_t slot_bytes(const HostOperand& operand, std::int64_t rows, std::int64_t columns, std::int64_t products) {
  return core::round_up(operand.image(whole(rows, columns, products)).bytes(), slot_alignment);
}

class Chooser {
 public:
  Chooser(const HostProduct& product, std::int64_t budget, const Limits& limits)
      : product_(product), d_(product.problem.description), budget_(budget), limits_(limits) {}

  std::optional<Tiling> choose() {
    start();
    while (!place())
      if (!shrink()) return std::nullopt;
    return t_;
  }

 private:
  void start() {
    t_.products = 1;
    t_.m_tile = d_.m;
    t_.n_tile = d_.n;
    t_.k_tile = d_.k;
    measure();
    const std::int64_t one = t_.a_slot_bytes + t_.b_slot_bytes + t_.c_slot_bytes;
    if (d_.batch_count > 1 && one <= limits_.group_bytes / 2) {
      t_.products = even_piece(d_.batch_count, limits_.group_bytes / one, 1);
      if (one * d_.batch_count <= limits_.whole_bytes) t_.products = d_.batch_count;
    } else if (one > limits_.whole_bytes) {
      cut_plane();
    }
  }

  /// Square tiles; along a short side they make up for it on the other, up to panel_bytes.
  void cut_plane() {
    const double quarter = std::sqrt(static_cast<double>(d_.m) * static_cast<double>(d_.n)) / 4;
    const std::int64_t edge =
        std::clamp(static_cast<std::int64_t>(quarter), limits_.least_tile_edge, limits_.most_tile_edge);
    const std::int64_t area = edge * edge;
    const std::int64_t most =
        std::max(edge, limits_.panel_bytes / std::max<std::int64_t>(1, d_.k * product_.a.element_bytes()));
    const std::int64_t m_short = std::min(d_.m, edge);
    const std::int64_t n_short = std::min(d_.n, edge);
    t_.m_tile = even_piece(d_.m, std::min(most, area / n_short), limits_.edge_multiple);
    t_.n_tile = even_piece(d_.n, std::min(most, area / m_short), limits_.edge_multiple);
  }

  void measure() {
    t_.a_slot_bytes = slot_bytes(product_.a, t_.m_tile, t_.k_tile, t_.products);
    t_.b_slot_bytes = slot_bytes(product_.b, t_.k_tile, t_.n_tile, t_.products);
    t_.c_slot_bytes = slot_bytes(product_.c, t_.m_tile, t_.n_tile, t_.products);
    const TileRegions largest = regions_of(product_.problem, t_, 0, 0, 0, 0);
    for (std::size_t v = 0; v < vector_sides.size(); ++v)
      if (const Region& region = largest.of(vector_sides[v]); product_.has(vector_sides[v]))
        t_.vector_slot_bytes[v] = slot_bytes(product_.operand(vector_sides[v]), region.rows, region.columns, 1);
    t_.groups = core::ceil_divide(d_.batch_count, t_.products);
    t_.m_tiles = core::ceil_divide(d_.m, t_.m_tile);
    t_.n_tiles = core::ceil_divide(d_.n, t_.n_tile);
    t_.k_tiles = core::ceil_divide(d_.k, t_.k_tile);
  }

  /// Gives out slots for the present tile; false where too few fit.
  bool place() {
    measure();
    t_.c_slots = std::min(t_.tiles(), most_c_slots);
    if (place_panels()) return true;
    t_.c_slots = std::min<std::int64_t>(t_.tiles(), 2);
    return place_panels();
  }

  bool place_panels() {
    const std::int64_t rest = budget_ - t_.c_slots * (t_.c_slot_bytes + t_.all_vectors_slot_bytes());
    const std::int64_t a_panels = t_.m_tiles * t_.k_tiles;
    const std::int64_t b_panels = t_.n_tiles * t_.k_tiles;
    const auto wanted = [&](const HostOperand& operand, std::int64_t panels) {
      return operand.is_shared() ? panels : std::min<std::int64_t>(2, t_.groups) * panels;
    };
    const std::int64_t a_wanted = wanted(product_.a, a_panels);
    const std::int64_t b_wanted = wanted(product_.b, b_panels);
    if (a_wanted * t_.a_slot_bytes + b_wanted * t_.b_slot_bytes <= rest) {
      t_.a_stays = true;
      t_.a_slots = a_wanted;
      t_.b_slots = b_wanted;
      t_.band_tiles = t_.m_tiles;
      return true;
    }
    const Side a{t_.a_slot_bytes, a_wanted, a_panels, t_.m_tiles};
    const Side b{t_.b_slot_bytes, b_wanted, b_panels, t_.n_tiles};
    const Band keep_a = band(a, b, rest);
    const Band keep_b = band(b, a, rest);
    if (keep_a.tiles == 0 && keep_b.tiles == 0) return false;
    t_.a_stays = keep_b.tiles == 0 || (keep_a.tiles != 0 && keep_a.moved <= keep_b.moved);
    const Band& taken = t_.a_stays ? keep_a : keep_b;
    (t_.a_stays ? t_.a_slots : t_.b_slots) = taken.staying_slots;
    (t_.a_stays ? t_.b_slots : t_.a_slots) = taken.streaming_slots;
    t_.band_tiles = taken.tiles;
    return true;
  }

  struct Side {
    std::int64_t bytes;   // of a slot
    std::int64_t wanted;  // slots that make every panel move once
    std::int64_t panels;
    std::int64_t tiles;
  };
  struct Band {
    std::int64_t tiles = 0;  // 0: does not fit
    std::int64_t staying_slots = 0;
    std::int64_t streaming_slots = 0;
    std::int64_t moved = 0;  // bytes
  };

  /// As many panels as fit stay on one side while those of the other side stream by.
  [[nodiscard]] Band band(const Side& stays, const Side& streams, std::int64_t rest) const {
    Band result;
    result.streaming_slots = std::min(streams.wanted, streaming_slots);
    result.staying_slots = std::min(stays.wanted, (rest - result.streaming_slots * streams.bytes) / stays.bytes);
    if (result.staying_slots < std::min<std::int64_t>(stays.wanted, 2)) return {};
    // One slot is left over for what comes next, unless all stay.
    const bool all_stay = result.staying_slots >= stays.panels;
    result.tiles = all_stay ? stays.tiles : std::max<std::int64_t>(1, (result.staying_slots - 1) / t_.k_tiles);
    result.moved =
        stays.panels * stays.bytes + core::ceil_divide(stays.tiles, result.tiles) * streams.panels * streams.bytes;
    return result;
  }

  bool shrink() {
    if (t_.products > 1) {
      t_.products = core::ceil_divide(t_.products, 2);
      return true;
    }
    if (halve_edges(limits_.cut_k_edge)) return true;
    if (k_may_be_cut() && t_.k_tile > limits_.cut_k_edge) {
      t_.k_tile = core::ceil_divide(t_.k_tile, 2);
      return true;
    }
    return halve_edges(1);
  }

  bool halve_edges(std::int64_t least) {
    const bool m_can = t_.m_tile > least;
    const bool n_can = t_.n_tile > least;
    if (!m_can && !n_can) return false;
    const bool m_first = m_can && (!n_can || t_.m_tile >= t_.n_tile);
    std::int64_t& edge = m_first ? t_.m_tile : t_.n_tile;
    const std::int64_t half = core::ceil_divide(edge, 2);
    edge = half > limits_.edge_multiple ? core::round_up(half, limits_.edge_multiple) : half;
    return true;
  }

  /// Partial sums wait in C: only where C holds what the kernel sums in is nothing lost. Scales are for finished sums:
  /// an infinite one would make NaN of parts of different signs. What is certified is rounded once, and what is
  /// reproducible is summed as in device memory, however much of that there is.
  [[nodiscard]] bool k_may_be_cut() const {
    const plan::Problem& problem = product_.problem;
    const bool is_whole =
        (problem.accuracy > Accuracy::standard || problem.reproducible) && is_floating(d_.types.input);
    return d_.types.output == accumulator_type(d_.types) && !plan::has_scales(d_) && !is_whole;
  }

  const HostProduct& product_;
  const GemmDescription& d_;
  std::int64_t budget_;
  Limits limits_;
  Tiling t_;
};

}  // namespace

HostProduct::HostProduct(const plan::Problem& p)
    : problem(p),
      a(p.description.a, p.description.m, p.description.k, p.description.types.input),
      b(p.description.b, p.description.k, p.description.n, p.description.types.input),
      c(p.description.c, p.description.m, p.description.n, p.description.types.output),
      bias({.row_stride = 1, .column_stride = 1}, p.description.bias == Bias::per_row ? p.description.m : 1,
           p.description.bias == Bias::per_column ? p.description.n : 1, p.description.types.output),
      row_scales({.row_stride = 1, .column_stride = 1}, p.description.m, 1, accumulator_type(p.description.types)),
      column_scales({.row_stride = 1, .column_stride = 1}, 1, p.description.n, accumulator_type(p.description.types)) {}

bool HostProduct::has(Side side) const {
  switch (side) {
    case Side::bias: return problem.description.bias != Bias::none;
    case Side::row_scales: return problem.description.row_scales;
    case Side::column_scales: return problem.description.column_scales;
    default: return true;
  }
}

const HostOperand& HostProduct::operand(Side side) const {
  return *std::array{&a, &b, &c, &bias, &row_scales, &column_scales}[static_cast<std::size_t>(side)];
}

const void* data_of(const GemmArguments& arguments, Side side) {
  const std::array<const void*, sides> all{arguments.a,    arguments.b,          arguments.c,
                                           arguments.bias, arguments.row_scales, arguments.column_scales};
  return all[static_cast<std::size_t>(side)];
}

void set_data(GemmArguments& arguments, Side side, void* data) {
  switch (side) {
    case Side::a: arguments.a = data; return;
    case Side::b: arguments.b = data; return;
    case Side::c: arguments.c = data; return;
    case Side::bias: arguments.bias = data; return;
    case Side::row_scales: arguments.row_scales = data; return;
    default: arguments.column_scales = data;
  }
}

const Region& TileRegions::of(Side side) const {
  return *std::array{&a, &b, &c, &bias, &row_scales, &column_scales}[static_cast<std::size_t>(side)];
}

TileRegions regions_of(const plan::Problem& problem, const Tiling& t, std::int64_t group, std::int64_t i,
                       std::int64_t j, std::int64_t k) {
  const GemmDescription& d = problem.description;
  const std::int64_t row = i * t.m_tile;
  const std::int64_t column = j * t.n_tile;
  const std::int64_t term = k * t.k_tile;
  const std::int64_t product = group * t.products;
  const std::int64_t rows = std::min(t.m_tile, d.m - row);
  const std::int64_t columns = std::min(t.n_tile, d.n - column);
  const std::int64_t terms = std::min(t.k_tile, d.k - term);
  const std::int64_t products = std::min(t.products, d.batch_count - product);
  const Region of_rows{.row = row, .rows = rows, .columns = 1};
  const Region of_columns{.rows = 1, .column = column, .columns = columns};
  return {.a = {row, rows, term, terms, product, products},
          .b = {term, terms, column, columns, product, products},
          .c = {row, rows, column, columns, product, products},
          .bias = d.bias == Bias::per_row ? of_rows : of_columns,
          .row_scales = of_rows,
          .column_scales = of_columns};
}

std::optional<Tiling> choose_tiling(const HostProduct& product, std::int64_t budget, const Limits& limits) {
  return Chooser(product, budget, limits).choose();
}

}  // namespace exactile::staging
