// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/certified/widen.cuh"

#include <algorithm>

#include "core/checked.hpp"
#include "cuda/kernels/certified/stages.hpp"
#include "cuda/tile/dispatch.cuh"

namespace exactile::cuda::certified {
namespace {

static_assert(sizeof(Measured) == measured_bytes);

template <class In>
Widening<In> widening_of(const Stage& stage, bool is_b) {
  const GemmDescription& d = stage.plan.d;
  const OperandLayout& layout = is_b ? d.b : d.a;
  const PanelPlan& p = is_b ? stage.plan.b : stage.plan.a;
  return {.from = static_cast<const In*>(is_b ? stage.arguments.b : stage.arguments.a),
          .layout = layout,
          .lane_stride = is_b ? layout.column_stride : layout.row_stride,
          .term_stride = is_b ? layout.row_stride : layout.column_stride,
          .is_b = is_b,
          .conjugate = layout.conjugate,
          .norm = !stage.plan.extracts ? Norm::two
                  : is_b               ? Norm::largest
                                       : Norm::sum,
          .to = stage.panel(p),
          .copy = p.copy == 0 ? nullptr : reinterpret_cast<float*>(stage.workspace + p.copy),
          .measured = reinterpret_cast<Measured*>(stage.workspace + p.measured),
          .products = p.matrices,
          .slices = p.slices,
          .slice_terms = p.slice_terms};
}

}  // namespace

Status widen(const Stage& stage) {
  return with_types(stage.plan.d.types, [&]<class In, class Out>() -> Status {
    if constexpr (!std::is_integral_v<In>) {
      const auto a = widening_of<In>(stage, false);
      const auto b = widening_of<In>(stage, true);
      const dim3 grid(static_cast<unsigned>(a.strips() * a.slices + b.strips() * b.slices),
                      static_cast<unsigned>(std::min<std::int64_t>(std::max(a.products, b.products), 65535)));
      widen_kernel<In><<<grid, dim3(32, 8), 0, stage.stream>>>(a, b);
      if (Status s = check_launch(kernel_name); !s.ok() || !stage.trust.certifies) return s;
      const std::int64_t lines = a.to.lanes * a.products + b.to.lanes * b.products;
      line_kernel<<<static_cast<unsigned>(core::ceil_divide(lines, 256)), 256, 0, stage.stream>>>(
          Measuring{a.to, a.measured, a.products, a.slices, a.norm},
          Measuring{b.to, b.measured, b.products, b.slices, b.norm});
    }
    return check_launch(kernel_name);
  });
}

}  // namespace exactile::cuda::certified
