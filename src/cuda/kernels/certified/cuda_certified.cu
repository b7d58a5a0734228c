// SPDX-License-Identifier: Apache-2.0
// `cuda_certified`: compensated and correctly rounded products of every floating type. Operands become panels of f64
// (widen.cuh). f32 and narrower, whose products are exact in f64, are summed by the kernels for f64 on tensor cores, in
// an order that is a function of K alone; f64 by extraction (extract.cuh). Each element is rounded where a bound of
// what its sum may be off by allows no doubt (finish.cuh), and summed again without an error where it does (exact.cuh).
// Traffic model: panels and sums are written and read once beside what the product of panels moves. docs/accuracy.md
// has the bounds.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "core/checked.hpp"
#include "cuda/kernels/certified/extract.cuh"
#include "cuda/kernels/certified/stages.hpp"
#include "cuda/kernels/dmma/parameters.cuh"
#include "cuda/kernels/kernels.hpp"
#include "cuda/multiplier.hpp"
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

using certified::chunk_k;

/// The caller's description with C's contiguous direction, where it has one, along its rows.
bool is_turned(const GemmDescription& d) { return d.c.row_stride > d.c.column_stride; }
GemmDescription turned(const GemmDescription& d) { return is_turned(d) ? plan::transposed(d) : d; }

bool is_hopper(const Device& device) { return device.compute_capability == 90; }
const Kernel& f64_kernel(const Device& device) { return is_hopper(device) ? sm90_f64_mma : sm80_f64_mma; }

Plan whole_plan(const plan::Problem& problem) {
  const GemmDescription d = turned(problem.description);
  return plan_of(d, d.batch_count, problem.accuracy);
}

/// What runs before and after the sums, but for what is in doubt, which the data decide.
Demand passes_of(const plan::Problem& problem) {
  const Plan plan = whole_plan(problem);
  const auto elements = [](const PanelPlan& p) { return static_cast<double>(p.matrices * p.lanes * p.terms); };
  const auto of_c = static_cast<double>(plan.d.m * plan.b.lanes * plan.d.batch_count);
  const auto in = static_cast<double>(size_in_bytes(plan.d.types.input)), sum = plan.extracts ? 16.0 : 8.0;
  const double copied = plan.a.copy == 0 ? 0 : sizeof(float) * elements(plan.a);
  return {.copied_bytes = (in + 8) * (elements(plan.a) + elements(plan.b)) + copied +
                          (sum + static_cast<double>(size_in_bytes(plan.d.types.output))) * of_c,
          .side_kernels = plan.extracts || plan.a.copy != 0 ? 4 : 3};
}

/// Where K is split each chunk has its sums in memory: certified ones are shorter than those that the kernel for f64
/// counts with.
bool may_hold_sums(const GemmDescription& d, const Device& device) {
  const double sums = 8 * static_cast<double>(d.batch_count) * static_cast<double>(core::ceil_divide(d.k, chunk_k)) *
                      static_cast<double>(d.m) * static_cast<double>(d.n);  // bytes
  return sums <= 0.4 * static_cast<double>(device.memory_bytes);
}

/// Those of the kernel that multiplies panels; of sums that are extracted one.
std::vector<Candidate> candidates_of(const plan::Problem& problem, const Device& device) {
  const Demand passes = passes_of(problem);
  const Plan plan = whole_plan(problem);
  if (problem.description.k == 0) return {{{}, passes}};
  if (plan.extracts) {
    constexpr int blocks = 2;  // on an SM
    const std::int64_t tiles =
        core::ceil_divide(plan.a.lanes, extract_tile) * core::ceil_divide(plan.b.lanes, extract_tile);
    Demand demand = passes;
    demand.tiles = static_cast<double>(tiles * plan.d.batch_count);
    demand.slots = static_cast<double>(device.sm_count) * blocks;
    demand.steps = static_cast<double>(core::ceil_divide(plan.a.terms, extract_k));
    return {{{.bm = extract_tile, .bn = extract_tile}, demand}};
  }
  const plan::Problem inner = panel_problem(plan, problem);
  std::vector<Candidate> all = f64_kernel(device).candidates(inner, device);
  if (core::trust_of_counted(problem.accuracy).certifies && !may_hold_sums(inner.description, device))
    std::erase_if(all, [](const Candidate& candidate) { return candidate.configuration.split_k > 1; });
  for (Candidate& candidate : all) {
    candidate.demand.copied_bytes += passes.copied_bytes;
    candidate.demand.side_kernels += passes.side_kernels;
  }
  return all;
}

core::Trust trust_of(const Plan& plan, Accuracy accuracy) {
  return plan.extracts ? core::trust_of(plan.a.terms, chunk_k, true, accuracy) : core::trust_of_counted(accuracy);
}

/// Products of a batch are computed in groups, whose panels and sums fit into a workspace.
std::int64_t group_of(const GemmDescription& d, Accuracy accuracy) {
  return products_at_once(d, plan_of(d, 1, accuracy).bytes);
}

class Certified final : public DeviceProduct {
 public:
  Certified(const plan::Problem& problem, const Device& device, const Configuration& configuration)
      : device_(device),
        configuration_(configuration),
        is_turned_(is_turned(problem.description)),
        d_(turned(problem.description)),
        trust_(trust_of(plan_of(d_, 1, problem.accuracy), problem.accuracy)),
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
    return d_.k == 0 ? std::string() : to_string(configuration_);
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
    const std::int64_t k_of_chunk = trust_.certifies ? chunk_k : dmma::chunk_k;
    group.inner = is_hopper(device_) ? make_sm90_f64(inner, device_, configuration_, k_of_chunk)
                                     : make_sm80_f64(inner, device_, configuration_, k_of_chunk);
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
  Configuration configuration_;  ///< of the kernel that multiplies panels
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
  if (words_of(plan) > std::numeric_limits<std::uint32_t>::max()) return "has more columns than 32 bits count";
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
    .candidates = candidates_of,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<Certified>(p, device, c);
    }};

const Multiplier* multiplier_of_certified(ElementType input, int compute_capability) {
  constexpr auto product = [](const plan::Problem& p) { return panel_problem(whole_plan(p), p).description; };
  static const Multiplier on_hopper{&sm90_f64_mma, product, passes_of}, elsewhere{&sm80_f64_mma, product, passes_of};
  if (input == ElementType::f64 || input == ElementType::cf64) return nullptr;
  return compute_capability == 90 ? &on_hopper : &elsewhere;
}

}  // namespace exactile::cuda
