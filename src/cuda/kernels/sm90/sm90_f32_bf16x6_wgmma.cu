// SPDX-License-Identifier: Apache-2.0
// `sm90_f32_bf16x6_wgmma`: f32 products as six products of bf16 slices on the tensor cores. Three slices hold every f32
// exactly over 150 binary orders of magnitude; what lies below them is summed plainly, element by element.
// Traffic model: both operands are read once and written as 6 bytes an element; tiles read those through L2.
// Limit: the tensor cores, at a sixth of their bf16 rate. See docs/design/sm90_f32_wgmma.md.
#include "cuda/kernels/sm90/sm90_f32_bf16x6_wgmma.hpp"

#include <array>

#include "cuda/kernels/sm90/fixup_listed.cuh"
#include "cuda/kernels/sm90/sm90_kernels.hpp"
#include "cuda/kernels/sm90/transposed_slices.cuh"

namespace exactile::cuda {
namespace sm90 {

constexpr std::string_view bf16x6_name = "sm90_f32_bf16x6_wgmma";
constexpr SlicedForm bf16x6_form{.bytes_per_block = block_bytes<Bf16x6>, .may_split_k = false};

namespace {

template <class Slices>
[[nodiscard]] Status enqueue_fixup_of(GemmParameters& p, const Device& device, cudaStream_t stream) {
  // So few that it takes no time to see that there is nothing to do.
  constexpr unsigned few_ctas = 1024;
  p.underflow_scale = underflow_scale<Slices>(p.operands.a.k);
  if (Status s =
          check(launch_early(true, fix_up_listed<Slices>, few_ctas, split::threads, 0, stream, p), "launch", "sum_few");
      !s.ok())
    return s;
  if (Status s = make_slice_maps<Slices>(p); !s.ok()) return s;
  return enqueue_multiply<Slices, Pass::fixup>(p, device, bf16x6_name, stream);
}

}  // namespace

Status enqueue_fixup(GemmParameters p, bool is_transposed, unsigned* a_underflows, unsigned* b_underflows,
                     const Device& device, cudaStream_t stream) {
  p.operands.a.scales.underflows = a_underflows;
  p.operands.b.scales.underflows = b_underflows;
  return is_transposed ? enqueue_fixup_of<TransposedSlices<Bf16x6>>(p, device, stream)
                       : enqueue_fixup_of<Bf16x6>(p, device, stream);
}

namespace {

class Bf16x6Product final : public SlicedProduct<Bf16x6> {
 public:
  Bf16x6Product(const GemmDescription& description, const Device& device)
      : SlicedProduct(description, device, bf16x6_form) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    GemmParameters p = parameters(launch);
    if (Status s = start(p, launch); !s.ok()) return s;
    if (launch.path_counts != nullptr) p.out.summed = launch.path_counts + 1;
    if (Status s = enqueue_multiply<Bf16x6, Pass::single>(p, device_, bf16x6_name, launch.stream); !s.ok()) return s;
    return launch.path_counts == nullptr ? Status()
                                         : enqueue_count(p.scheduler, nullptr, launch.path_counts, launch.stream);
  }
  [[nodiscard]] std::string blocking() const override { return "BM=128 BN=256 BK=32 KC=32 stages=3 cluster=2"; }
  [[nodiscard]] double model_bytes() const override { return sliced_model_bytes(description_, 4 + 2 * 6); }
  [[nodiscard]] std::vector<Path> paths() const override {
    return {{"bf16x6", "tiles", "all of C, in tiles of 256 x 256"}, summed_path()};
  }
};

}  // namespace
}  // namespace sm90

const Kernel sm90_f32_bf16x6_wgmma{
    .name = sm90::bf16x6_name,
    .role = "engine",
    .summary = "f32 as three bf16 slices, six products on the tensor cores",
    .types = sm90::f32_types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses = [](const plan::Problem& p,
                  const Device& device) { return sm90::sliced_refuses(p, device, sm90::bf16x6_form); },
    .candidates =
        [](const plan::Problem& p, const Device& device) {
          return sm90::sliced_candidates(p.description, device, sm90::bf16x6_form, sm90::block_bytes<sm90::Bf16x6>);
        },
    .make = [](const plan::Problem& p, const Device& device, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<sm90::Bf16x6Product>(p.description, device);
    }};

}  // namespace exactile::cuda
