// SPDX-License-Identifier: Apache-2.0
/// \file
/// How grouped products are laid over the device, and which there are none of.
#pragma once

#include <string>

#include "core/checked.hpp"
#include "cuda/grouped.hpp"
#include "cuda/kernels/sm90/native/plan.hpp"

namespace exactile::cuda::sm90::native {

/// A cluster's CTAs lie side by side: they share rows of A, and a group need not fill more than one tile's.
struct GroupedConfig {
  TileShape tile;
  int cluster_columns;
};

/// In order of preference.
inline constexpr GroupedConfig grouped_configs[] = {{{128, 256}, 2}, {{128, 256}, 1}, {{128, 128}, 2}, {{128, 128}, 1}};

[[nodiscard]] inline Configuration configuration_of(const GroupedConfig& config) {
  return {.bm = config.tile.m, .bn = config.tile.n, .cluster_m = 1, .cluster_n = config.cluster_columns};
}

[[nodiscard]] constexpr std::string_view grouped_name(ElementType multiplied) {
  switch (multiplied) {
    case ElementType::bf16: return "sm90_grouped_bf16_wgmma";
    case ElementType::f16: return "sm90_grouped_f16_wgmma";
    default: return "sm90_grouped_f8e4m3_wgmma";
  }
}

[[nodiscard]] inline std::int64_t clusters_across(std::int64_t n, const GroupedConfig& config) {
  return core::ceil_divide(n, config.tile.n * config.cluster_columns);
}

/// Clusters' tiles, however the groups lie.
[[nodiscard]] inline std::int64_t most_tiles(const GroupedDescription& d, const GroupedConfig& config) {
  return (core::ceil_divide(d.total_rows, config.tile.m) + std::min(d.groups, d.total_rows)) *
         clusters_across(d.n, config);
}

/// All rows together, with one of the matrices, whose batch stride is that from group to group.
[[nodiscard]] inline GemmDescription whole(const GroupedDescription& d) {
  GemmDescription all =
      reachable({.types = d.types, .m = d.total_rows, .n = d.n, .k = d.k, .a = d.a, .b = d.b, .c = d.c});
  all.b.batch_stride = d.groups > 1 ? d.b.batch_stride : 0;
  all.c.batch_stride = 0;
  all.row_scales = d.row_scales;
  all.column_scales = d.column_scales;
  return all;
}

[[nodiscard]] std::unique_ptr<plan::GroupedExecutable> make_grouped_product(const GroupedDescription& description,
                                                                            const GroupedConfig& config,
                                                                            const Device& device);

}  // namespace exactile::cuda::sm90::native
