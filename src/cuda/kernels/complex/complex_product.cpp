// SPDX-License-Identifier: Apache-2.0
// Complex products by the kernels for real ones: `complex_` and what the real kernels are called. B is expanded into a
// real matrix in the workspace, A and C stay where they are; see real_form.hpp. What a real product cannot end with
// (complex alpha or beta, a bias for each row, a C without contiguous rows) is done to sums in the workspace by a pass
// after it. Traffic model: each element of B is read once and written twice, beside what the real product of m x 2n x
// 2k moves. Limit: that of the real kernel. See docs/design/complex.md.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/complex/real_form.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/multiplier.hpp"
#include "cuda/runtime/scaled_product.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace complex_family {
namespace {

/// What the real kernel is asked: `standard` is the bound of 2k terms for complex products under `reduced`, too.
plan::Problem real_problem(const plan::Problem& problem, const GemmDescription& description) {
  plan::Problem real = problem;
  real.description = description;
  real.accuracy = Accuracy::standard;
  return real;
}

RealForm form_of(const plan::Problem& problem, Expansion expansion) {
  return {problem.description, expansion, is_transposed_for(problem.description, expansion)};
}

/// The real product with B expanded, whoever does that: as such products were measured.
template <Expansion expansion>
GemmDescription measured_product(const plan::Problem& problem) {
  return RealForm(problem.description, Expansion::before, is_transposed_for(problem.description, expansion)).usual();
}

/// Those that read the operands as the real kernel likes best: the expanded B lies so that one way round does.
std::vector<Candidate> with_passes(std::vector<Candidate> all, const Demand& passes) {
  const auto path_of = [](const Candidate& c) { return c.demand.path; };
  const int least = path_of(*std::ranges::min_element(all, {}, path_of));
  std::erase_if(all, [&](const Candidate& c) { return path_of(c) > least; });
  for (Candidate& candidate : all) {
    candidate.demand.copied_bytes += passes.copied_bytes;
    candidate.demand.side_kernels += passes.side_kernels;
  }
  return all;
}

class ComplexProduct final : public DeviceProduct {
 public:
  ComplexProduct(const Kernel& real, Expansion expansion, const plan::Problem& problem, const Device& device,
                 const Configuration& c)
      : form_(form_of(problem, expansion)),
        to_c_(form_.reaches_c ? real.make(real_problem(problem, form_.to_c), device, c) : nullptr),
        to_sums_(real.make(real_problem(problem, form_.to_sums), device, c)) {
    constexpr std::int64_t alignment = 1024;
    a_ = core::round_up(form_.b_bytes(), alignment);
    sums_ = a_ + core::round_up(form_.a_bytes(), alignment);
    real_after_sums_ = sums_ + core::round_up(form_.sums_bytes(), alignment);
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments arguments = form_.is_transposed ? plan::transposed(launch.arguments) : launch.arguments;
    auto* const workspace = static_cast<std::byte*>(launch.workspace);
    GemmArguments real{.a = arguments.a, .b = arguments.b, .c = workspace + sums_};
    if (Status s = enqueue_passes_before(real, workspace, launch.stream); !s.ok()) return s;
    const bool writes_c = is_written_at_once(arguments);
    if (writes_c) {
      real.c = arguments.c;
      real.alpha = arguments.alpha;
      real.beta = arguments.beta;
      real.bias = arguments.bias;
    }
    if (Status s = (writes_c ? to_c_ : to_sums_)
                       ->launch({.arguments = real,
                                 .workspace = workspace + (writes_c ? sums_ : real_after_sums_),
                                 .stream = launch.stream,
                                 .path_counts = launch.path_counts});
        !s.ok() || writes_c)
      return s;
    return finish_sums(form_.d, arguments, workspace + sums_,
                       {.row_stride = form_.pitch, .column_stride = 1, .batch_stride = form_.d.m * form_.pitch}, false,
                       launch.stream);
  }

  [[nodiscard]] std::string blocking() const override {
    const std::string a = form_.is_transposed ? "B" : "A", b = form_.is_transposed ? "A" : "B";
    return usual().blocking() + (form_.expands ? " expanded=" + b : "") + (form_.copies_b ? " copied=" + b : "") +
           (form_.copies_a ? " copied=" + a : "");
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    const std::int64_t through_sums = real_after_sums_ + to_sums_->workspace_bytes();
    return to_c_ == nullptr ? through_sums : std::max(through_sums, sums_ + to_c_->workspace_bytes());
  }
  [[nodiscard]] std::int64_t workspace_bytes_for(const GemmArguments& arguments) const override {
    return is_written_at_once(arguments) ? sums_ + to_c_->workspace_bytes()
                                         : real_after_sums_ + to_sums_->workspace_bytes();
  }
  [[nodiscard]] double model_bytes() const override { return usual().model_bytes() + form_.passes().copied_bytes; }
  [[nodiscard]] std::vector<Path> paths() const override { return usual().paths(); }

 private:
  /// Brings the operands where the real kernel reads them, and says where that is.
  [[nodiscard]] Status enqueue_passes_before(GemmArguments& real, std::byte* workspace, cudaStream_t stream) const {
    const std::int64_t products = form_.d.batch_count;
    Status done;
    if (form_.expands) done = expand(form_, real.b, workspace, stream);
    if (form_.copies_b) done = form_.copy_of_b().launch(real.b, workspace, products, stream, "copy of B");
    if (form_.expands || form_.copies_b) real.b = workspace;
    if (!done.ok() || !form_.copies_a) return done;
    done = form_.copy_of_a().launch(real.a, workspace + a_, products, stream, "copy of A");
    real.a = workspace + a_;
    return done;
  }
  [[nodiscard]] bool is_written_at_once(const GemmArguments& arguments) const {
    return to_c_ != nullptr && arguments.alpha.is_real() && arguments.beta.is_real();
  }
  [[nodiscard]] const DeviceProduct& usual() const { return to_c_ != nullptr ? *to_c_ : *to_sums_; }

  RealForm form_;
  std::unique_ptr<DeviceProduct> to_c_;  ///< null where the sums cannot be written to C
  std::unique_ptr<DeviceProduct> to_sums_;
  // Places in the workspace, after that of B. The real kernel's own begins where sums would, if there are none.
  std::int64_t a_;
  std::int64_t sums_;
  std::int64_t real_after_sums_;
};

/// A real kernel that multiplies, who expands B for it, and whose rates and measured products say how fast it is.
struct Real {
  const Kernel& kernel;
  Expansion expansion;
  Multiplier measured;
};

template <const Kernel& kernel, Expansion expansion = Expansion::before, const Kernel& measured = kernel>
const Real real{kernel,
                expansion,
                {.kernel = &measured, .product = measured_product<expansion>, .passes = [](const plan::Problem& p) {
                   return form_of(p, expansion).passes();
                 }}};

/// The one of a device.
using RealOf = const Real& (*)(int compute_capability);

const Real& f64_mma(int capability) {
  return capability == 90 ? real<sm90_f64_by_complex_mma, Expansion::in_kernel, sm90_f64_mma> : real<sm80_f64_mma>;
}
template <const Kernel& kernel>
const Real& always(int /*capability*/) {
  return real<kernel>;
}

/// What passes beside the real kernel, whose tiles and divisions of K are the configurations.
template <RealOf real_of>
constexpr Kernel complex_by(std::string_view name, std::span<const GemmTypes> types, std::string_view summary,
                            int least_capability, int most_capability = 999) {
  return {.name = name,
          .role = "engine",
          .summary = summary,
          .types = types,
          .least_capability = least_capability,
          .most_capability = most_capability,
          .refuses = [](const plan::Problem& p, const Device& device) -> std::string_view {
            const Real& real = real_of(device.compute_capability);
            const std::string_view why = why_too_large(p.description, real.expansion, device);
            return why.empty() ? real.kernel.refuses(real_problem(p, form_of(p, real.expansion).usual()), device) : why;
          },
          .candidates =
              [](const plan::Problem& p, const Device& device) {
                const Real& real = real_of(device.compute_capability);
                const RealForm form = form_of(p, real.expansion);
                return with_passes(real.kernel.candidates(real_problem(p, form.usual()), device), form.passes());
              },
          .make = [](const plan::Problem& p, const Device& device,
                     const Configuration& c) -> std::unique_ptr<DeviceProduct> {
            const Real& real = real_of(device.compute_capability);
            return std::make_unique<ComplexProduct>(real.kernel, real.expansion, p, device, c);
          }};
}

constexpr std::array cf32_types{GemmTypes{ElementType::cf32, ElementType::cf32}};
constexpr std::array cf64_types{GemmTypes{ElementType::cf64, ElementType::cf64}};

}  // namespace
}  // namespace complex_family

using namespace complex_family;

const Kernel complex_f64_mma =
    complex_by<f64_mma>("complex_f64_mma", cf64_types, "cf64 by f64_mma, on Hopper without an expanded B", 80);
const Kernel complex_f32_fp16x3_wgmma = complex_by<always<sm90_f32_fp16x3_wgmma>>(
    "complex_f32_fp16x3_wgmma", cf32_types, "cf32 by sm90_f32_fp16x3_wgmma", 90, 90);
const Kernel complex_f32_fp16x3_split_a_wgmma = complex_by<always<sm90_f32_fp16x3_split_a_wgmma>>(
    "complex_f32_fp16x3_split_a_wgmma", cf32_types, "cf32 by sm90_f32_fp16x3_split_a_wgmma", 90, 90);
const Kernel complex_f32_fp16x3_split_b_wgmma = complex_by<always<sm90_f32_fp16x3_split_b_wgmma>>(
    "complex_f32_fp16x3_split_b_wgmma", cf32_types, "cf32 by sm90_f32_fp16x3_split_b_wgmma", 90, 90);
const Kernel complex_f32_bf16x6_mma =
    complex_by<always<sm80_f32_bf16x6_mma>>("complex_f32_bf16x6_mma", cf32_types, "cf32 by sm80_f32_bf16x6_mma", 80);
const Kernel complex_simt_f32 =
    complex_by<always<simt_f32>>("complex_simt_f32", cf32_types, "cf32 by simt_f32: few terms", 75);

const Multiplier* multiplier_of_complex(const Kernel& kernel, int compute_capability) {
  static constexpr std::array<std::pair<const Kernel*, RealOf>, 6> all{
      {{&complex_f64_mma, f64_mma},
       {&complex_f32_fp16x3_wgmma, always<sm90_f32_fp16x3_wgmma>},
       {&complex_f32_fp16x3_split_a_wgmma, always<sm90_f32_fp16x3_split_a_wgmma>},
       {&complex_f32_fp16x3_split_b_wgmma, always<sm90_f32_fp16x3_split_b_wgmma>},
       {&complex_f32_bf16x6_mma, always<sm80_f32_bf16x6_mma>},
       {&complex_simt_f32, always<simt_f32>}}};
  const auto* found = std::ranges::find(all, &kernel, [](const auto& pair) { return pair.first; });
  return found == all.end() ? nullptr : &found->second(compute_capability).measured;
}

}  // namespace exactile::cuda
