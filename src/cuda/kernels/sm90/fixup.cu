// SPDX-License-Identifier: Apache-2.0
// The second chance of elements that f16 slices cannot hold: six products of bf16 slices. Three slices hold every f32
// exactly over 150 binary orders of magnitude; what lies below them is summed plainly, element by element.
#include "cuda/kernels/sm90/f32_sliced.cuh"
#include "cuda/kernels/sm90/fixup_listed.cuh"
#include "cuda/kernels/sm90/transposed_slices.cuh"

namespace exactile::cuda::sm90 {
namespace {

template <class Slices>
[[nodiscard]] Status enqueue_fixup_of(GemmParameters& p, const Device& device, cudaStream_t stream) {
  // So few that it takes no time to see that there is nothing to do.
  constexpr unsigned few_ctas = 1024;
  p.underflow_scale = underflow_scale<Slices>(p.operands.a.k);
  if (Status s = check(launch_early(true, fix_up_listed<Slices>, few_ctas, split::threads, 0, stream, p), "launch",
                       "fix_up_listed");
      !s.ok())
    return s;
  if (Status s = make_slice_maps<Slices>(p); !s.ok()) return s;
  return enqueue_multiply<Slices, Pass::fixup>(p, device, "fixup", stream);
}

}  // namespace

Status enqueue_fixup(GemmParameters p, bool is_transposed, unsigned* a_underflows, unsigned* b_underflows,
                     const Device& device, cudaStream_t stream) {
  p.operands.a.scales.underflows = a_underflows;
  p.operands.b.scales.underflows = b_underflows;
  return is_transposed ? enqueue_fixup_of<TransposedSlices<Bf16x6>>(p, device, stream)
                       : enqueue_fixup_of<Bf16x6>(p, device, stream);
}

}  // namespace exactile::cuda::sm90
