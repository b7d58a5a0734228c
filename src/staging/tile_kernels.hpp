// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "plan/kernel_entry.hpp"
#include "staging/schedule.hpp"

namespace exactile::staging {

/// Prepares one kernel for a problem whose operands are in device memory; null where memory ran out.
using PrepareOnDevice = std::unique_ptr<plan::Executable> (*)(const plan::Problem&);

/// The problem of one tile: the layouts are those of the images.
[[nodiscard]] plan::Problem tile_problem(const HostProduct& product, const TileRegions& regions, bool ends_tile);

/// The kernel, made ready for each shape of tile that occurs: the inner ones and those at the edges. Kept between runs.
class TileKernels {
 public:
  explicit TileKernels(PrepareOnDevice prepare) : prepare_(prepare) {}
  /// Null where memory ran out.
  [[nodiscard]] const plan::Executable* get(const plan::Problem& problem);

 private:
  struct Ready {
    GemmDescription description;
    std::unique_ptr<const plan::Executable> executable;
  };
  PrepareOnDevice prepare_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Ready>> ready_;
};

}  // namespace exactile::staging
