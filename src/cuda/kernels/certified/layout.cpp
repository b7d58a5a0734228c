// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/certified/layout.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::certified {
namespace {

constexpr std::int64_t alignment = 256;

/// Places in the workspace, one behind the other.
class Places {
 public:
  std::int64_t take(std::int64_t bytes) {
    const std::int64_t at = bytes_;
    bytes_ += core::round_up(bytes, alignment);
    return at;
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

PanelPlan panel_of(std::int64_t lanes, std::int64_t terms, std::int64_t matrices, bool by_terms, Places& places) {
  constexpr std::int64_t most_slices = 64;
  PanelPlan p{.lanes = lanes, .terms = terms, .matrices = matrices};
  const std::int64_t pitch = core::round_up(by_terms ? terms : lanes, 2);
  p.lane_stride = by_terms ? pitch : 1;
  p.term_stride = by_terms ? 1 : pitch;
  p.product_elements = pitch * (by_terms ? lanes : terms);
  p.slices = std::clamp<std::int64_t>(core::ceil_divide(terms, 256), 1, most_slices);
  p.slice_terms = core::round_up(core::ceil_divide(terms, p.slices), 32);
  p.elements = places.take(8 * matrices * p.product_elements);
  p.lines = places.take(static_cast<std::int64_t>(sizeof(Line)) * matrices * lanes);
  p.measured = places.take(measured_bytes * matrices * p.slices * lanes);
  return p;
}

}  // namespace

std::int64_t words_of(const Plan& plan) { return plan.d.batch_count * plan.column_words * plan.d.n; }

Plan plan_of(const GemmDescription& d, std::int64_t products, Accuracy accuracy) {
  Places places;
  const std::int64_t parts = is_complex(d.types.input) ? 2 : 1;
  const std::int64_t terms = d.k * parts;
  Plan plan{.d = d};
  plan.d.batch_count = products;
  plan.extracts = d.types.input == ElementType::f64 || d.types.input == ElementType::cf64;
  plan.column_words = core::ceil_divide(d.m, 32);
  plan.doubts = places.take(static_cast<std::int64_t>(sizeof(Doubt)) * words_of(plan));
  plan.doubt_count = places.take(sizeof(std::uint32_t));
  if (terms != 0) {
    plan.a = panel_of(d.m, terms, plan::distinct_matrices(d.a, products), false, places);
    plan.b = panel_of(d.n * parts, terms, plan::distinct_matrices(d.b, products), !plan.extracts, places);
    // What is in doubt is summed along the terms, which lie far apart in a panel of rows.
    if (!plan.extracts && accuracy == Accuracy::correctly_rounded) {
      plan.a.copy = places.take(static_cast<std::int64_t>(sizeof(float)) * plan.a.matrices * plan.a.lanes * terms);
    }
    plan.sums_pitch = core::round_up(d.m, 2);
    plan.sums_elements = plan.sums_pitch * plan.b.lanes;
    plan.high = places.take(8 * products * plan.sums_elements);
    plan.low = places.take(plan.extracts ? 8 * products * plan.sums_elements : 0);
  }
  plan.inner = places.bytes();
  plan.bytes = places.bytes();
  return plan;
}

plan::Problem panel_problem(const Plan& plan, const plan::Problem& problem) {
  const auto layout = [](const PanelPlan& p, bool is_a) {
    const std::int64_t product = p.matrices == 1 ? 0 : p.product_elements;
    return is_a ? OperandLayout{.row_stride = p.lane_stride, .column_stride = p.term_stride, .batch_stride = product}
                : OperandLayout{.row_stride = p.term_stride, .column_stride = p.lane_stride, .batch_stride = product};
  };
  return {.description = {.types = {ElementType::f64, ElementType::f64},
                          .m = plan.a.lanes,
                          .n = plan.b.lanes,
                          .k = plan.a.terms,
                          .a = layout(plan.a, true),
                          .b = layout(plan.b, false),
                          .c = {.row_stride = 1, .column_stride = plan.sums_pitch, .batch_stride = plan.sums_elements},
                          .batch_count = plan.d.batch_count},
          .accuracy = Accuracy::standard,
          .threads = problem.threads,
          .memory = Memory::device,
          .device = problem.device,
          .planning = problem.planning,
          .reproducible = true};
}

}  // namespace exactile::cuda::certified
