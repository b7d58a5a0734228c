// SPDX-License-Identifier: Apache-2.0
#include "staging/tile_kernels.hpp"

#include <algorithm>

namespace exactile::staging {

plan::Problem tile_problem(const HostProduct& product, const TileRegions& regions, bool ends_tile) {
  plan::Problem problem = product.problem;
  problem.memory = Memory::device;
  GemmDescription& d = problem.description;
  d.m = regions.c.rows;
  d.n = regions.c.columns;
  d.k = regions.a.columns;
  d.a = product.a.device_layout(regions.a);
  d.b = product.b.device_layout(regions.b);
  d.c = product.c.device_layout(regions.c);
  d.batch_count = regions.c.products;
  if (!ends_tile) {  // the epilogue is for the whole sum
    d.bias = Bias::none;
    d.activation = Activation::none;
  }
  return problem;
}

const plan::Executable* TileKernels::get(const plan::Problem& problem) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(ready_, [&](const auto& ready) { return ready->description == problem.description; });
  if (found != ready_.end()) return (*found)->executable.get();
  auto made = prepare_(problem);
  if (made == nullptr) return nullptr;
  ready_.push_back(std::make_unique<Ready>(Ready{problem.description, std::move(made)}));
  return ready_.back()->executable.get();
}

}  // namespace exactile::staging
