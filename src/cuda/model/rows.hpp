// SPDX-License-Identifier: Apache-2.0
/// \file
/// What was measured of devices: the text of tuning/rows/cuda.tsv and of the user's own file, as data. Lines of fields
/// that tabs separate, the first of which says what the line is:
///
///     device   NAME  CC=90 SMS=132 CLOCK_KHZ=... BANDWIDTH_MBS=...  LAUNCH_PS=... SHARE_PM=...   facts, Overheads,
///                                        LINK_MBS=... ROUND_TRIP_PS=... HOST_COPY_MBS=...        and HostLink
///     rates    NAME  KERNEL  TYPE  BM=128 BN=256 ...  PATH  STEP_PS=... TILE_PS=... HEAD_PM=...  Rates; PATH is
///                                                     Demand's path, and behind a slash its store where that is not 0
///     way      NAME  NUMBER  KERNEL  BM=128 BN=256 CLUSTER_M=2 ...                               a configuration
///     product  NAME  TYPES  512x4096x14336 nt standard  NUMBER:MICROSECONDS ...                  a measured product
///
/// PS are picoseconds, PM per mille. A product lists the ways that took at most `kept` times as long as its fastest.
/// Its letters say whether A and B lie as their rows (n) or as their columns (t) do, C's rows being contiguous.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cuda/configuration.hpp"
#include "cuda/model/cost.hpp"
#include "exactile/plan.hpp"
#include "plan/host_link.hpp"

namespace exactile::cuda::model {

inline constexpr double kept = 2.5;

/// A kernel by one of its configurations.
struct Way {
  std::string kernel;
  Configuration configuration;
};

struct Time {
  int way;  ///< index into DeviceRows::ways
  double seconds;
};

struct MeasuredProduct {
  GemmDescription description;
  Accuracy accuracy = Accuracy::standard;
  std::vector<Time> times;
};

/// What Rates depend on: the sizes that a kernel is compiled for, how many CTAs share an SM, how operands lie and C is
/// stored.
struct RatesKey {
  std::string kernel;
  ElementType type = ElementType::f32;
  Configuration sizes;
  int path = 0;
  int store = 0;
  friend bool operator==(const RatesKey&, const RatesKey&) = default;
};
struct HashOfRatesKey {
  [[nodiscard]] std::size_t operator()(const RatesKey& key) const;
};
[[nodiscard]] RatesKey rates_key(std::string_view kernel, ElementType type, const Configuration& configuration,
                                 int path, int store = 0);
[[nodiscard]] std::string to_string(const RatesKey& key);

struct DeviceRows {
  std::string name;
  Device facts;
  Overheads overheads;
  plan::HostLink link;
  std::unordered_map<RatesKey, Rates, HashOfRatesKey> rates;
  std::vector<Way> ways;
  std::vector<MeasuredProduct> products;
};

/// Lines that cannot be read are left out.
[[nodiscard]] std::vector<DeviceRows> parse_rows(std::string_view text);
/// Of the named device alone.
[[nodiscard]] DeviceRows parse_rows(std::string_view text, std::string_view name);
/// Which devices there are rows of: their names and facts.
[[nodiscard]] std::vector<DeviceRows> parse_devices(std::string_view text);
[[nodiscard]] std::string to_text(const DeviceRows& rows);

}  // namespace exactile::cuda::model
