// SPDX-License-Identifier: Apache-2.0
// `sm90_f32_fp16x3_wgmma`: f32 products as three products of f16 slices on the tensor cores. Elements of C for which
// two slices cannot keep the promise of `standard` are noticed by their size and computed again by fixup.cu. Traffic
// model: both operands are read once and written as 4 bytes an element; tiles read those through L2. Limit: the tensor
// cores, at a third of their f16 rate; for large products, power. See docs/design/sm90_f32_wgmma.md.
#include <string>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/f32_sliced.cuh"
#include "cuda/kernels/sm90/transposed_slices.cuh"

namespace exactile::cuda {
namespace sm90 {
namespace {

constexpr std::string_view fp16x3_name = "sm90_f32_fp16x3_wgmma";

/// Where K is split depends on all sizes, so reproducible products do without; their scales are those of
/// sm90_f32_fp16x3_mma.
constexpr SlicedForm fp16x3_form(bool may_split_k, bool is_reproducible) {
  return {.may_split_k = may_split_k && !is_reproducible, .has_sample = is_reproducible};
}

class Fp16x3Product final : public DeviceProduct {
 public:
  Fp16x3Product(const plan::Problem& problem, const Device& device, const Configuration& configuration)
      : description_(with_contiguous_rows(problem.description)),
        is_transposed_(!(description_ == problem.description)),
        layout_(description_, fp16x3_form(configuration.split_k > 1, problem.reproducible), clusters_of(device)),
        device_(device),
        width_(configuration.bn) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override { return layout_.bytes; }
  [[nodiscard]] std::int64_t prepared_bytes(Operand operand) const override {
    return prepacked_operand(split_operand(description_, layout_, placed(operand))).bytes;
  }
  [[nodiscard]] Status prepare(Operand operand, const void* elements, void* form, cudaStream_t stream) const override {
    SplitPair pair{split_operand(description_, layout_, placed(operand)), {}};
    pair.a.data = static_cast<const float*>(elements);
    prepacked_operand(pair.a).place(pair.a, form);
    pair.b = pair.a;
    pair.b.batches = 0;
    return enqueue_split<Fp16x3>(pair, nullptr, 0, stream);
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments arguments = is_transposed_ ? plan::transposed(launch.arguments) : launch.arguments;
    GemmParameters p = sliced_parameters(description_, arguments, layout_, launch.workspace);
    const SplitPair in_workspace = p.operands;
    if (Status s = start(p, launch); !s.ok()) return s;
    if (launch.path_counts != nullptr) p.out.summed = launch.path_counts + 2;
    if (Status s = layout_.split_k > 1 ? launch_split_k(p, launch) : launch_tiles(p, in_workspace, launch); !s.ok())
      return s;
    return launch.path_counts == nullptr ? Status()
                                         : enqueue_count(p.scheduler, p.fixup.warps, launch.path_counts, launch.stream);
  }
  [[nodiscard]] std::string blocking() const override {
    return "BM=128 BN=" + std::to_string(width_) +
           " BK=32 KC=64 stages=4 cluster=2 SPLIT_K=" + std::to_string(layout_.split_k);
  }
  [[nodiscard]] double model_bytes() const override { return sliced_model_bytes(description_, 4 + 2 * 4); }
  [[nodiscard]] std::vector<Path> paths() const override {
    return {
        {"f16x3", "tiles", "all of C, in tiles of 256 x 256, but for elements that the next path takes"},
        {"bf16x6", "tiles",
         layout_.split_k > 1 ? "none: K is split"
                             : "tiles with elements that may be too small for the error of their row's and column's "
                               "tiny elements (less than 2^-17 of the largest), which f16 slices do not hold"},
        summed_path()};
  }

 private:
  /// Enqueues the split of what is not prepared, and zeroes what must be zero. Afterwards the parameters lack only the
  /// tensor map of C.
  [[nodiscard]] Status start(GemmParameters& p, const Launch& launch) const {
    SplitPair rest = p.operands;
    const bool a_is_ready = take_prepared(p.operands.a, rest.a, is_transposed_ ? launch.prepared_b : launch.prepared_a);
    const bool b_is_ready = take_prepared(p.operands.b, rest.b, is_transposed_ ? launch.prepared_a : launch.prepared_b);
    if (a_is_ready && b_is_ready) {
      if (Status s = enqueue_zero(layout_, launch); !s.ok()) return s;
    } else {
      auto* zero = reinterpret_cast<unsigned*>(static_cast<std::byte*>(launch.workspace) + layout_.underflows_again);
      if (Status s = enqueue_split<Fp16x3>(rest, zero, (layout_.zeroed - layout_.underflows_again) / 4, launch.stream);
          !s.ok())
        return s;
    }
    return make_slice_maps<Fp16x3>(p);
  }
  [[nodiscard]] Status launch_tiles(GemmParameters& p, const SplitPair& in_workspace, const Launch& launch) const {
    if (Status s = make_output_map(p, description_); !s.ok()) return s;
    if (Status s = is_transposed_ ? enqueue_main<TransposedSlices<Fp16x3>>(p, launch) : enqueue_main<Fp16x3>(p, launch);
        !s.ok())
      return s;

    GemmParameters again = p;
    again.operands.a.slices = in_workspace.a.slices;  // prepared ones stay as they are
    again.operands.b.slices = in_workspace.b.slices;
    auto* underflows =
        reinterpret_cast<unsigned*>(static_cast<std::byte*>(launch.workspace) + layout_.underflows_again);
    return enqueue_fixup(again, is_transposed_, underflows, underflows + layout_.a_batches * layout_.a_pitch, device_,
                         launch.stream);
  }
  template <class Slices>
  [[nodiscard]] Status enqueue_main(GemmParameters& p, const Launch& launch) const {
    if (width_ == tile_n) return enqueue_multiply<Slices, Pass::main>(p, device_, fp16x3_name, launch.stream);
    if (Status s = make_slice_maps<Slices>(p, width_); !s.ok()) return s;
    return width_ == width_of(Pass::halves)
               ? enqueue_multiply<Slices, Pass::halves>(p, device_, fp16x3_name, launch.stream)
               : enqueue_multiply<Slices, Pass::quarters>(p, device_, fp16x3_name, launch.stream);
  }
  [[nodiscard]] Status launch_split_k(GemmParameters& p, const Launch& launch) const {
    p.split_k = layout_.split_k;
    return enqueue_multiply<Fp16x3, Pass::split_k>(p, device_, fp16x3_name, launch.stream);
  }

  /// The caller's operand as it is named in description_.
  [[nodiscard]] Operand placed(Operand operand) const {
    return (operand == Operand::a) != is_transposed_ ? Operand::a : Operand::b;
  }
  [[nodiscard]] static PrepackedOperand prepacked_operand(const SplitOperand& operand) {
    return {operand, slices_row_bytes<Fp16x3>(operand.k)};
  }
  [[nodiscard]] static bool take_prepared(SplitOperand& operand, SplitOperand& rest, const void* form) {
    if (form == nullptr) return false;
    prepacked_operand(operand).place(operand, const_cast<void*>(form));  // only read from now on
    rest.batches = 0;
    return true;
  }

  GemmDescription description_;
  bool is_transposed_;
  SlicedWorkspace layout_;
  const Device& device_;
  int width_;  ///< columns that a cluster computes at a time
};

/// Where tiles leave half of the clusters idle, or more, those may have a half or a quarter of a tile each.
[[nodiscard]] std::vector<Candidate> fp16x3_candidates(const plan::Problem& problem, const Device& device) {
  const auto of_form = [&](bool may_split_k) {
    return sliced_candidates(problem.description, device, fp16x3_form(may_split_k, problem.reproducible));
  };
  std::vector<Candidate> all = of_form(true);
  Candidate part = of_form(false).front();
  for (const Pass pass : {Pass::halves, Pass::quarters}) {
    part.demand.tiles *= 2;
    if (part.demand.tiles > part.demand.slots) break;
    part.configuration.bn = width_of(pass);
    all.push_back(part);
  }
  return all;
}

}  // namespace
}  // namespace sm90

const Kernel sm90_f32_fp16x3_wgmma{
    .name = sm90::fp16x3_name,
    .role = "engine",
    .summary = "f32 as two scaled f16 slices, three products on the tensor cores",
    .types = sm90::f32_types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses =
        [](const plan::Problem& p, const Device& device) {
          return sm90::sliced_refuses(p, device, sm90::fp16x3_form(true, p.reproducible));
        },
    .candidates = sm90::fp16x3_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<sm90::Fp16x3Product>(p, device, c);
    }};

}  // namespace exactile::cuda
