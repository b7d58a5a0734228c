// SPDX-License-Identifier: Apache-2.0
/// \file
/// THE cost model of the CPU backend. One formula ranks all kernels:
///
///     seconds = start + (max(C, M) + overlap * min(C, M)) / threads + T
///     C = sum of amount * rate over cycles, calls, packed bytes and displaced rows
///     M = read_bytes * read + reread_bytes * reread
///     T = teams * time to call one of so many threads + meetings * time until so many have met
///
/// A family counts the amounts (Demand) from sizes, strides, caches and registers; the same formula decides the number
/// of threads (team.hpp). The rates are data: src/tuning/rows/cpu.tsv has those of processors that were measured, and
/// of any other. `exactile tune --backend cpu --costs` measures them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/checked.hpp"
#include "cpu/isa.hpp"
#include "cpu/micro/amx.hpp"
#include "exactile/types.hpp"

namespace exactile::cpu {

/// What a kernel may have to do, each in a unit of its own. A cycle is the time of as many multiply-adds as the
/// description of the processor allows, see vectors_per_cycle.
enum class Work : std::uint8_t {
  near_cycles,     ///< of multiply-adds whose B is in the nearest cache
  far_cycles,      ///< of others
  slow_cycles,     ///< of those that wait for nearly every operand
  idle_cycles,     ///< in which registers' latency or loads leave the multiply-adds nothing to do
  calls,           ///< of micro-kernels
  way_bytes,       ///< packed by multiply-adds on their way
  tile_bytes,      ///< packed tile by tile, asked for before
  block_bytes,     ///< packed a block at a time
  displaced_rows,  ///< of B that fell out of the nearest cache, as rows displace one another
  paged_bytes,     ///< of an operand that is read a line or two of each page at a time
  read_bytes,      ///< from behind the second cache, for the first time
  reread_bytes,    ///< and again, or in lines that nothing asks for ahead
  starts           ///< of products
};
inline constexpr int work_count = static_cast<int>(Work::starts) + 1;

struct Demand {
  std::array<double, work_count> amounts{};
  int threads = 1;
  double teams = 0;     ///< that are called, one after the other; none where there is one thread
  double meetings = 0;  ///< of their threads, beside the end of each

  double& operator[](Work work) { return amounts[static_cast<std::size_t>(work)]; }
  double operator[](Work work) const { return amounts[static_cast<std::size_t>(work)]; }
};

/// Seconds for each unit of work; overlap is a share.
struct Rates {
  std::array<double, work_count> seconds{};
  double overlap = 1;
};

[[nodiscard]] double seconds(const Demand& demand, const Rates& rates);

/// Whose rates: a family of kernels for one instruction set and type.
struct RatesKey {
  std::string_view family;  ///< "direct"
  Isa isa;
  ElementType input;
  friend bool operator==(const RatesKey&, const RatesKey&) = default;
};

/// Measured on this processor: here, or what ships; else those for any.
[[nodiscard]] Rates rates_of(const RatesKey& key);

/// What this thread's latest estimate rested on: to this, measuring fits rates.
struct Estimate {
  RatesKey key;
  Demand demand;
};
[[nodiscard]] Estimate& latest_estimate();

/// Vectors whose multiply-adds a cycle has room for. A tile instruction of AMX does those of 256 in 16 cycles.
template <class K>
inline constexpr double vectors_per_cycle = in_tile_registers<K> ? 16 : 2;

/// Of kinds that take several instructions for a multiply-add, more.
template <class K>
[[nodiscard]] double cycles_of(const MicroKernels<K>& kernels, double terms) {
  return terms * kernels.instructions /
         (vectors_per_cycle<K> * kernels.lanes * static_cast<double>(Elements<K>::group));
}

/// Adds the micro-kernels' calls for m x n x k, in panels of so many vectors, and the cycles in which their
/// multiply-adds wait: each for the one before of the same sum, or for operands.
template <class K>
void add_tiles(Demand& demand, const MicroKernels<K>& kernels, std::int64_t m, std::int64_t n, std::int64_t k,
               int vectors, double products = 1) {
  constexpr double latency = 4;          // of a multiply-add, on all processors with AVX2
  constexpr double loads_per_cycle = 2;  // the same
  const std::int64_t width = std::int64_t{vectors} * kernels.lanes;
  const double terms = products * static_cast<double>(core::ceil_divide(k, std::int64_t{Elements<K>::group}));
  const auto add = [&](std::int64_t panels, int of_panel) {
    if (panels == 0) return;
    const std::int64_t row_tiles = core::ceil_divide(m, std::int64_t{kernels.rows_of(of_panel)});
    const double height = static_cast<double>(m) / static_cast<double>(row_tiles);
    const double tiles = static_cast<double>(panels) * static_cast<double>(row_tiles);
    const double busy = height * of_panel * kernels.instructions / vectors_per_cycle<K>;
    const double least = std::max(latency, (height + of_panel) / loads_per_cycle);
    demand[Work::idle_cycles] += tiles * terms * std::max(0.0, least - busy);
    demand[Work::calls] += products * tiles * static_cast<double>(core::ceil_divide(k, chunk_terms<K>));
  };
  add(n / width, vectors);
  const std::int64_t rest = n % width;
  add(rest > 0 ? 1 : 0, static_cast<int>(core::ceil_divide(std::max<std::int64_t>(rest, 1), kernels.lanes)));
}

/// What teams add: they are called, their members meet, and each but the first reads once more what all share.
inline void add_team(Demand& demand, double teams, double meetings, double shared_bytes) {
  if (demand.threads == 1) return;
  demand.teams += teams;
  demand.meetings += meetings;
  demand[Work::reread_bytes] += (demand.threads - 1) * shared_bytes;
}

/// Each operand once.
template <class K>
[[nodiscard]] double bytes_once(double m, double n, double k) {
  return static_cast<double>(sizeof(Input<K>)) * (m * k + k * n) + static_cast<double>(sizeof(Sum<K>)) * m * n;
}

}  // namespace exactile::cpu
