// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm80/operand.hpp"

#include "core/checked.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm80 {

OperandPlan::OperandPlan(const OperandLayout& layout, ElementType type, std::int64_t vectors, std::int64_t k)
    : layout_(layout),
      copy_{.rows = k,
            .columns = vectors,
            .from = plan::transposed(layout),
            .type = type,
            .pitch = core::round_up(k, 16 / size_in_bytes(type)),
            .copy_rows = vectors} {
  const auto is_aligned = [type](std::int64_t stride) { return stride * size_in_bytes(type) % 16 == 0; };
  may_stay_ = !layout.pointer_array && (layout.column_stride == 1 || k == 1) && is_aligned(layout.row_stride) &&
              is_aligned(layout.batch_stride);
}

}  // namespace exactile::cuda::sm80
