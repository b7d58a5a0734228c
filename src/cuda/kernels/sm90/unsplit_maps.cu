// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/unsplit_maps.cuh"

#include <cstdlib>

#include "cuda/kernels/sm90/tensor_map.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90 {

SplitOperand operand_in_parts(const GemmDescription& d, Operand which, std::int64_t facts_pitch, int parts,
                              int part_k) {
  const bool is_a = which == Operand::a;
  return {.data = nullptr,
          .layout = is_a ? d.a : plan::transposed(d.b),
          .rows = static_cast<int>(is_a ? d.m : d.n),
          .k = static_cast<int>(d.k),
          .batches = static_cast<int>(plan::distinct_matrices(is_a ? d.a : d.b, d.batch_count)),
          .slices = nullptr,
          .facts = {},
          .facts_pitch = static_cast<int>(facts_pitch),
          .parts = parts,
          .part_k = part_k};
}

LineFacts facts_at(void* place, const SplitOperand& operand) {
  auto* maxima = static_cast<unsigned*>(place);
  return {maxima, maxima + std::int64_t{operand.parts} * operand.batches * operand.facts_pitch};
}

bool runs_along_k(const SplitOperand& operand) {
  return std::abs(operand.layout.column_stride) <= std::abs(operand.layout.row_stride);
}

std::optional<TileLines> lines_for_tma(const SplitOperand& o, bool along_k) {
  const std::int64_t step = along_k ? o.layout.row_stride : o.layout.column_stride;
  const auto is_step = [](std::int64_t elements) {
    return elements % 4 == 0 && elements > 0 && elements < std::int64_t{1} << 37;
  };
  if ((along_k ? o.layout.column_stride : o.layout.row_stride) != 1 || o.layout.pointer_array ||
      (o.batches > 1 && !is_step(o.layout.batch_stride)))
    return {};
  if (is_step(step) && reinterpret_cast<std::uintptr_t>(o.data) % 16 == 0) return TileLines{along_k, false, {}};
  if (!is_step(4 * step) || (along_k ? o.rows : o.k) < 4) return {};
  TileLines lines{along_k, true, {}};
  for (int line = 0; line < 4; ++line)
    lines.shift[line] = static_cast<int>(reinterpret_cast<std::uintptr_t>(o.data + line * step) % 16 / 4);
  return lines;
}

Status make_unsplit_maps(CUtensorMap (&to)[4], const SplitOperand& o, const TileLines& lines_of_tiles) {
  const auto [along_k, by_fours, shift] = lines_of_tiles;
  const std::int64_t step = along_k ? o.layout.row_stride : o.layout.column_stride;
  const std::int64_t lines = along_k ? o.rows : o.k;
  const int maps = by_fours ? 4 : 1;
  for (int map = 0; map < maps; ++map) {
    const std::int64_t rows = (lines - map + maps - 1) / maps;
    const TensorBoxes boxes{.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                            .data = const_cast<float*>(o.data + map * step - shift[map]),
                            .columns = (along_k ? o.k : o.rows) + shift[map],
                            .rows = rows,
                            .batches = o.batches,
                            .row_bytes = 4 * maps * step,
                            .batch_bytes = 4 * (o.batches == 1 ? rows * maps * step : o.layout.batch_stride),
                            .box_columns = by_fours ? (along_k ? chunk_k : tile_m) + 4 : 32,
                            .box_rows = (along_k ? tile_m : chunk_k) / maps};
    if (Status s = make_tensor_map(to[map], boxes); !s.ok()) return s;
  }
  return {};
}

}  // namespace exactile::cuda::sm90
