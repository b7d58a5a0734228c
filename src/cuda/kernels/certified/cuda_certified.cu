// SPDX-License-Identifier: Apache-2.0
// `cuda_certified`: compensated and correctly rounded products of every floating type. Operands become panels of f64
// (widen.cuh). f32 and narrower, whose products are exact in f64, are summed by the kernels for f64 on tensor cores, in
// an order that is a function of K alone; f64 by extraction (extract.cuh). Each element is rounded where a bound of
// what its sum may be off by allows no doubt (finish.cuh), and summed again without an error where it does (exact.cuh).
// Traffic model: panels and sums are written and read once beside what the product of panels moves. docs/accuracy.md
// has the bounds.
#include <algorithm>
#include <array>
#include <memory>

#include "core/checked.hpp"
#include "cuda/kernels/certified/certified_kernels.hpp"
#include "cuda/kernels/certified/extract.cuh"
#include "cuda/kernels/certified/stages.hpp"
#include "cuda/kernels/dmma/dmma_kernels.hpp"
#include "cuda/runtime/entry.hpp"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/tiles.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace certified {

Panel Stage::panel(const PanelPlan& p) const {
  const bool is_shared = p.matrices == 1;
  return {.elements = reinterpret_cast<double*>(workspace + p.elements),
          .lines = reinterpret_cast<Line*>(workspace + p.lines),
          .lanes = p.lanes,
          .terms = p.terms,
          .lane_stride = p.lane_stride,
          .term_stride = p.term_stride,
          .product_stride = is_shared ? 0 : p.product_elements,
          .line_stride = is_shared ? 0 : p.lanes};
}

Panel Stage::by_terms(const PanelPlan& p) const {
  Panel copied = panel(p);
  if (p.copy == 0) return copied;
  copied.elements = reinterpret_cast<double*>(workspace + p.copy);
  copied.lane_stride = p.terms;
  copied.term_stride = 1;
  if (copied.product_stride != 0) copied.product_stride = p.lanes * p.terms;
  return copied;
}

Sums Stage::sums() const {
  return {.high = reinterpret_cast<double*>(workspace + plan.high),
          .low = reinterpret_cast<double*>(workspace + plan.low),
          .pitch = plan.sums_pitch,
          .product_stride = plan.sums_elements};
}

Status extract(const Stage& stage) {
  if (Status s = allow_shared_memory(extract_kernel, extract_shared_bytes, kernel_name); !s.ok()) return s;
  const Extraction e{.a = stage.panel(stage.plan.a),
                     .b = stage.panel(stage.plan.b),
                     .sums = stage.sums(),
                     .products = stage.plan.d.batch_count};
  const std::int64_t tiles = core::ceil_divide(e.a.lanes, extract_tile) * core::ceil_divide(e.b.lanes, extract_tile);
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(std::min<std::int64_t>(e.products, 65535)));
  extract_kernel<<<grid, extract_threads, extract_shared_bytes, stage.stream>>>(e);
  return check_launch(kernel_name);
}

}  // namespace certified

namespace {

using namespace certified;

/// The caller's description with C's contiguous direction, where it has one, along its rows.
bool is_turned(const GemmDescription& d) { return d.c.row_stride > d.c.column_stride; }
GemmDescription turned(const GemmDescription& d) { return is_turned(d) ? plan::transposed(d) : d; }

const Kernel& f64_kernel(const Device& device) { return device.compute_capability == 90 ? sm90_f64_mma : sm80_f64_mma; }

/// Products of a batch are computed in groups, whose panels and sums fit into a workspace.
std::int64_t group_of(const GemmDescription& d, Accuracy accuracy) {
  return products_at_once(d, plan_of(d, 1, accuracy).bytes);
}

class Certified final : public DeviceProduct {
 public:
  Certified(const plan::Problem& problem, const Device& device)
      : device_(device),
        is_turned_(is_turned(problem.description)),
        d_(turned(problem.description)),
        trust_(core::trust_of(d_.k * (is_complex(d_.types.input) ? 2 : 1), chunk_k,
                              plan_of(d_, 1, problem.accuracy).extracts, problem.accuracy)),
        group_(group_of(d_, problem.accuracy)),
        whole_(make_group(problem, group_)),
        rest_(make_group(problem, d_.batch_count % group_)) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments all = is_turned_ ? plan::transposed(launch.arguments) : launch.arguments;
    for (std::int64_t first = 0; first < d_.batch_count; first += group_) {
      GemmArguments arguments = all;
      arguments.a = from_product(all.a, d_.a, d_.types.input, first);
      arguments.b = from_product(all.b, d_.b, d_.types.input, first);
      arguments.c = const_cast<void*>(from_product(all.c, d_.c, d_.types.output, first));
      const Group& group = first + group_ <= d_.batch_count ? whole_ : rest_;
      if (Status s = run(group, arguments, static_cast<char*>(launch.workspace), launch.stream); !s.ok()) return s;
    }
    return {};
  }

  [[nodiscard]] std::string blocking() const override {
    if (whole_.inner != nullptr) return whole_.inner->blocking();
    return d_.k == 0 ? std::string() : "BM=64 BN=64 BK=16";
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return std::max(bytes_of(whole_), bytes_of(rest_)); }
  [[nodiscard]] double model_bytes() const override {
    const double elements = static_cast<double>(d_.m * d_.n * d_.batch_count);
    const double operands = static_cast<double>(d_.batch_count) * static_cast<double>(d_.k) *
                            static_cast<double>(d_.m + d_.n) * static_cast<double>(size_in_bytes(d_.types.input) + 8);
    const double groups = static_cast<double>(d_.batch_count) / static_cast<double>(group_);
    const double inner = whole_.inner == nullptr ? 0 : groups * whole_.inner->model_bytes();
    return operands + inner + elements * static_cast<double>(16 + size_in_bytes(d_.types.output));
  }

 private:
  struct Group {
    Plan plan;
    std::unique_ptr<DeviceProduct> inner = nullptr;  ///< null where sums are extracted
  };

  [[nodiscard]] Group make_group(const plan::Problem& problem, std::int64_t products) const {
    Group group{.plan = plan_of(d_, products, problem.accuracy)};
    if (products == 0 || d_.k == 0 || group.plan.extracts) return group;
    const plan::Problem inner = panel_problem(group.plan, problem);
    const Kernel& kernel = f64_kernel(device_);
    group.inner = kernel.make(inner, device_, chosen(kernel, inner, device_));
    return group;
  }

  [[nodiscard]] static std::int64_t bytes_of(const Group& group) {
    return group.plan.bytes + (group.inner == nullptr ? 0 : group.inner->workspace_bytes());
  }

  [[nodiscard]] Status run(const Group& group, const GemmArguments& arguments, char* workspace,
                           cudaStream_t stream) const {
    const Stage stage{group.plan, device_, arguments, trust_, workspace, stream};
    if (d_.k != 0) {
      if (Status s = widen(stage); !s.ok()) return s;
      if (Status s = group.inner == nullptr ? extract(stage) : multiply(group, workspace, stream); !s.ok()) return s;
    }
    return finish(stage);
  }

  [[nodiscard]] static Status multiply(const Group& group, char* workspace, cudaStream_t stream) {
    const GemmArguments panels{.a = workspace + group.plan.a.elements,
                               .b = workspace + group.plan.b.elements,
                               .c = workspace + group.plan.high};
    return group.inner->launch({.arguments = panels, .workspace = workspace + group.plan.inner, .stream = stream});
  }

  const Device& device_;
  bool is_turned_;
  GemmDescription d_;
  core::Trust trust_;
  std::int64_t group_;
  Group whole_;
  Group rest_;
};

std::string_view why_refused(const plan::Problem& problem, const Device& device) {
  if (problem.accuracy <= Accuracy::standard) return "sums for compensated and correctly_rounded only";
  const GemmDescription d = turned(problem.description);
  if (d.k > most_terms / (is_complex(d.types.input) ? 2 : 1)) return "sums at most 2^28 terms";
  const Plan plan = plan_of(d, group_of(d, problem.accuracy), problem.accuracy);
  if (static_cast<double>(plan.bytes) > 0.7 * static_cast<double>(device.memory_bytes))
    return "needs more memory for operands and sums as f64 than there is";
  if (plan.extracts)
    return refuses_blocks(core::ceil_divide(plan.a.lanes, extract_tile) *
                          core::ceil_divide(plan.b.lanes, extract_tile));
  return f64_kernel(device).refuses(panel_problem(plan, problem), device);
}

constexpr std::array certified_types{
    GemmTypes{ElementType::f64, ElementType::f64},    GemmTypes{ElementType::f32, ElementType::f32},
    GemmTypes{ElementType::f16, ElementType::f16},    GemmTypes{ElementType::f16, ElementType::f32},
    GemmTypes{ElementType::bf16, ElementType::bf16},  GemmTypes{ElementType::bf16, ElementType::f32},
    GemmTypes{ElementType::f8e4m3, ElementType::f32}, GemmTypes{ElementType::f8e4m3, ElementType::bf16},
    GemmTypes{ElementType::f8e5m2, ElementType::f32}, GemmTypes{ElementType::f8e5m2, ElementType::bf16},
    GemmTypes{ElementType::cf64, ElementType::cf64},  GemmTypes{ElementType::cf32, ElementType::cf32}};

}  // namespace

const Kernel cuda_certified{
    .name = certified::kernel_name,
    .role = "engine",
    .summary = "sums of f64 with a bound for each: compensated and correctly_rounded",
    .types = certified_types,
    .least_capability = 80,
    .refuses = why_refused,
    .candidates = one_candidate,
    .make = [](const plan::Problem& p, const Device& device, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<Certified>(p, device);
    }};

}  // namespace exactile::cuda
