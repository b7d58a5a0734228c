// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm80/operand.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm80 {
namespace {

/// The largest width, at most 16, of which all are multiples; 0 if it is less than `least`.
int common_width(std::uint64_t all, int least) {
  const auto width = static_cast<int>(std::min<std::uint64_t>(all & (0 - all), 16) + (all == 0 ? 16 : 0));
  return width >= least ? width : 0;
}

}  // namespace

OperandPlan::OperandPlan(const OperandLayout& layout, ElementType type, std::int64_t vectors, std::int64_t k,
                         bool packs)
    : layout_(layout),
      copy_{.rows = k,
            .columns = vectors,
            .from = plan::transposed(layout),
            .type = type,
            .pitch = core::round_up(k, 16 / size_in_bytes(type)),
            .copy_rows = vectors},
      across_(layout.column_stride != 1 && layout.row_stride == 1),
      width_(0) {
  const bool is_along = layout.column_stride == 1 || k == 1;
  if (layout.pointer_array || !(is_along || across_)) return;
  const auto bytes = [type](std::int64_t stride) { return static_cast<std::uint64_t>(stride * size_in_bytes(type)); };
  width_ =
      common_width(bytes(vector_stride(false)) | bytes(layout.batch_stride), packs || size_in_bytes(type) == 1 ? 4 : 2);
}

int OperandPlan::width(const void* data) const {
  return width_ == 0 ? 0
                     : common_width(static_cast<std::uint64_t>(width_) | reinterpret_cast<std::uintptr_t>(data),
                                    std::min(width_, 4));
}

}  // namespace exactile::cuda::sm80
