// SPDX-License-Identifier: Apache-2.0
// `sm90_f32_fp16x3_wgmma`: f32 products as three products of f16 slices on the tensor cores. Elements of C for which
// two slices cannot keep the promise of `standard` are noticed by their size and computed again by
// sm90_f32_bf16x6_wgmma. Traffic model: both operands are read once and written as 4 bytes an element; tiles read
// those through L2. Limit: the tensor cores, at a third of their f16 rate; for large products, power. See
// docs/ladder/sm90_f32_wgmma.md.
#include <string>

#include "cuda/kernels/sm90/sm90_f32_bf16x6_wgmma.hpp"
#include "cuda/kernels/sm90/sm90_kernels.hpp"

namespace exactile::cuda {
namespace sm90 {
namespace {

constexpr std::string_view fp16x3_name = "sm90_f32_fp16x3_wgmma";
constexpr double fp16x3_rate = 225e12;

class Fp16x3Product final : public DeviceProduct {
 public:
  Fp16x3Product(const GemmDescription& description, const Device& device)
      : description_(with_contiguous_rows(description)),
        is_transposed_(!(description_ == description)),
        layout_(description_, block_bytes<Bf16x6>, true),  // the leftovers' slices are larger
        device_(device) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    GemmParameters p = sliced_parameters(description_, arguments, layout_, launch.workspace);
    if (Status s = enqueue_sliced_split<Fp16x3>(p.operands, layout_, launch); !s.ok()) return s;
    if (Status s = make_slice_maps<Fp16x3>(p); !s.ok()) return s;
    if (layout_.parts > 1) return launch_parts(p, launch);
    if (Status s = make_output_map(p, description_); !s.ok()) return s;
    if (Status s = enqueue_multiply<Fp16x3, Turn::first>(p, device_, fp16x3_name, launch.stream); !s.ok()) return s;

    auto* tiny = reinterpret_cast<unsigned*>(static_cast<std::byte*>(launch.workspace) + layout_.tiny_again);
    return enqueue_leftovers(p, tiny, tiny + layout_.a_batches * layout_.a_pitch, device_, launch.stream);
  }
  [[nodiscard]] std::string blocking() const override {
    return "BM=128 BN=256 BK=32 KC=64 stages=4 cluster=2 split-K=" + std::to_string(layout_.parts);
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return layout_.bytes; }
  [[nodiscard]] double model_bytes() const override { return sliced_model_bytes(description_, 4 + 2 * 4); }

 private:
  [[nodiscard]] Status launch_parts(GemmParameters& p, const Launch& launch) const {
    const Partials partials{reinterpret_cast<float*>(static_cast<std::byte*>(launch.workspace) + layout_.partials),
                            layout_.parts, layout_.partial_pitch()};
    p.parts = layout_.parts;
    if (Status s = make_partials_map(p, partials); !s.ok()) return s;
    if (Status s = enqueue_multiply<Fp16x3, Turn::part>(p, device_, fp16x3_name, launch.stream); !s.ok()) return s;
    return enqueue_combine(p, partials, launch.stream);
  }

  GemmDescription description_;
  bool is_transposed_;
  SlicedLayout layout_;
  const Device& device_;
};

}  // namespace
}  // namespace sm90

const Kernel sm90_f32_fp16x3_wgmma{
    .name = sm90::fp16x3_name,
    .role = "engine",
    .summary = "f32 as two scaled f16 slices, three products on the tensor cores",
    .types = sm90::f32_types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses = sm90::sliced_refuses,
    .cost =
        [](const plan::Problem& p, const Device& device) {
          return sm90::sliced_cost(p.description, device, sm90::fp16x3_rate, sm90::block_bytes<sm90::Fp16x3>);
        },
    .prepare = [](const plan::Problem& p, const Device& device) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<sm90::Fp16x3Product>(p.description, device);
    }};

}  // namespace exactile::cuda
