// SPDX-License-Identifier: Apache-2.0
/// \file What kernels share: C cut into tiles, one block for each; batches cut to fit a workspace.
#pragma once

#include <algorithm>
#include <string_view>

#include "core/checked.hpp"
#include "cuda/kernel.hpp"

namespace exactile::cuda {

/// Tiles of C in one product, counted row of tiles by row of tiles.
[[nodiscard]] inline std::int64_t tile_count(const GemmDescription& d, std::int64_t rows, std::int64_t columns) {
  return core::ceil_divide(d.m, rows) * core::ceil_divide(d.n, columns);
}

/// `blocks` for each product, and a layer of them for each product as far as a grid is deep.
[[nodiscard]] inline dim3 layered_grid(const GemmDescription& d, std::int64_t blocks) {
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(std::min<std::int64_t>(d.batch_count, 65535))};
}

[[nodiscard]] inline std::string_view refuses_blocks(std::int64_t blocks) {
  return blocks <= 0x7fffffff ? "" : "C has more tiles than one grid has blocks";
}

/// Traffic model of tiles: a row of A is read once for each column of tiles, a column of B once for each row of tiles.
[[nodiscard]] inline double tiled_bytes(const GemmDescription& d, std::int64_t rows, std::int64_t columns) {
  const double a = static_cast<double>(d.m) * static_cast<double>(core::ceil_divide(d.n, columns));
  const double b = static_cast<double>(d.n) * static_cast<double>(core::ceil_divide(d.m, rows));
  return (a + b) * static_cast<double>(d.k) * static_cast<double>(d.batch_count * size_in_bytes(d.types.input));
}

/// What a product asks whose work is spread evenly over the device: a K-step is 2^20 multiply-adds of each SM.
[[nodiscard]] inline Demand even_demand(const GemmDescription& d, const Device& device) {
  const auto m = static_cast<double>(d.m), n = static_cast<double>(d.n), k = static_cast<double>(d.k);
  const auto batch = static_cast<double>(d.batch_count);
  return {.steps = m * n * k * batch / device.sm_count / (1 << 20),
          .bytes = batch * (static_cast<double>(size_in_bytes(d.types.input)) * (m + n) * k +
                            static_cast<double>(size_in_bytes(d.types.output)) * m * n)};
}

/// The one candidate of a kernel without sizes to choose.
[[nodiscard]] inline std::vector<Candidate> one_candidate(const plan::Problem& problem, const Device& device) {
  return {{.configuration = {}, .demand = even_demand(problem.description, device)}};
}

/// How many products of a batch are done at once when each needs `bytes` of workspace.
[[nodiscard]] inline std::int64_t products_at_once(const GemmDescription& d, std::int64_t bytes) {
  constexpr std::int64_t enough = std::int64_t{256} << 20;
  return std::clamp<std::int64_t>(enough / std::max<std::int64_t>(bytes, 1), 1, d.batch_count);
}

/// The operand from product `first` on.
[[nodiscard]] inline const void* from_product(const void* data, const OperandLayout& layout, ElementType type,
                                              std::int64_t first) {
  const std::int64_t step =
      layout.pointer_array ? static_cast<std::int64_t>(sizeof(void*)) : layout.batch_stride * size_in_bytes(type);
  return static_cast<const char*>(data) + first * step;
}

}  // namespace exactile::cuda
