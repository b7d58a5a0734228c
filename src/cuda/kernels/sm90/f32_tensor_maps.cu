// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/f32_tensor_maps.cuh"

#include <cstdlib>

#include "cuda/kernels/sm90/tensor_map.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90 {

SplitOperand k_sliced_operand(const GemmDescription& d, Operand which, std::int64_t scales_pitch, int split_k,
                              int k_per_slice) {
  const bool is_a = which == Operand::a;
  return {.data = nullptr,
          .layout = is_a ? d.a : plan::transposed(d.b),
          .rows = static_cast<int>(is_a ? d.m : d.n),
          .k = static_cast<int>(d.k),
          .batches = static_cast<int>(plan::distinct_matrices(is_a ? d.a : d.b, d.batch_count)),
          .slices = nullptr,
          .scales = {},
          .scales_pitch = static_cast<int>(scales_pitch),
          .split_k = split_k,
          .k_per_slice = k_per_slice};
}

VectorScales scales_at(void* place, const SplitOperand& operand) {
  auto* maxima = static_cast<unsigned*>(place);
  return {maxima, maxima + std::int64_t{operand.split_k} * operand.batches * operand.scales_pitch};
}

bool is_k_major(const SplitOperand& operand) {
  return std::abs(operand.layout.column_stride) <= std::abs(operand.layout.row_stride);
}

std::optional<F32TileLayout> tma_layout_of(const SplitOperand& o, bool k_major) {
  const std::int64_t step = k_major ? o.layout.row_stride : o.layout.column_stride;
  const auto is_step = [](std::int64_t elements) {
    return elements % 4 == 0 && elements > 0 && elements < std::int64_t{1} << 37;
  };
  if ((k_major ? o.layout.column_stride : o.layout.row_stride) != 1 || o.layout.pointer_array ||
      (o.batches > 1 && !is_step(o.layout.batch_stride)))
    return {};
  if (is_step(step) && reinterpret_cast<std::uintptr_t>(o.data) % 16 == 0) return F32TileLayout{k_major, false, {}};
  if (!is_step(4 * step) || (k_major ? o.rows : o.k) < 4) return {};
  F32TileLayout tile_layout{k_major, true, {}};
  for (int line = 0; line < 4; ++line)
    tile_layout.shift[line] = static_cast<int>(reinterpret_cast<std::uintptr_t>(o.data + line * step) % 16 / 4);
  return tile_layout;
}

Status make_f32_maps(CUtensorMap (&to)[4], const SplitOperand& o, const F32TileLayout& lines_of_tiles) {
  const auto [k_major, misaligned, shift] = lines_of_tiles;
  const std::int64_t step = k_major ? o.layout.row_stride : o.layout.column_stride;
  const std::int64_t tile_layout = k_major ? o.rows : o.k;
  const int maps = misaligned ? 4 : 1;
  for (int map = 0; map < maps; ++map) {
    const std::int64_t rows = (tile_layout - map + maps - 1) / maps;
    const TensorBoxes boxes{.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                            .data = const_cast<float*>(o.data + map * step - shift[map]),
                            .columns = (k_major ? o.k : o.rows) + shift[map],
                            .rows = rows,
                            .batches = o.batches,
                            .row_bytes = 4 * maps * step,
                            .batch_bytes = 4 * (o.batches == 1 ? rows * maps * step : o.layout.batch_stride),
                            .box_columns = misaligned ? (k_major ? chunk_k : tile_m) + 4 : 32,
                            .box_rows = (k_major ? tile_m : chunk_k) / maps};
    if (Status s = make_tensor_map(to[map], boxes); !s.ok()) return s;
  }
  return {};
}

}  // namespace exactile::cuda::sm90
