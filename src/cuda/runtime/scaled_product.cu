// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/scaled_product.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "cuda/tile/dispatch.cuh"
#include "cuda/tile/epilogue.cuh"
#include "plan/column_major.hpp"
#include "plan/scales.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace {

constexpr int threads_per_block = 256;
constexpr std::int64_t most_blocks = 65535;  // along y
constexpr std::int64_t alignment = 256;

/// Sums in the workspace: rows of C, or its columns where those are contiguous, each from a multiple of 16 bytes on.
[[nodiscard]] OperandLayout layout_of_sums(const GemmDescription& d) {
  const std::int64_t unit = 16 / size_in_bytes(accumulator_type(d.types.input));
  if (plan::is_column_major(d)) {
    const std::int64_t pitch = core::round_up(d.m, unit);
    return {.row_stride = 1, .column_stride = pitch, .batch_stride = d.n * pitch};
  }
  const std::int64_t pitch = core::round_up(d.n, unit);
  return {.row_stride = pitch, .column_stride = 1, .batch_stride = d.m * pitch};
}

[[nodiscard]] double bytes_of_sums(const GemmDescription& d) {
  return (static_cast<double>(d.m) + 16) * (static_cast<double>(d.n) + 16) * static_cast<double>(d.batch_count) *
         static_cast<double>(size_in_bytes(accumulator_type(d.types.input)));
}

/// The product whose result are the sums.
[[nodiscard]] plan::Problem problem_of_sums(const plan::Problem& problem) {
  plan::Problem sums = problem;
  sums.description = plan::sums_alone(problem.description);
  sums.description.types.output = accumulator_type(problem.description.types.input);
  sums.description.c = layout_of_sums(problem.description);
  return sums;
}

/// The caller's row is scaled first: where rows here are its columns, `is_transposed`, the column.
/// One thread an element; a block has `across` of a row, a power of two, and takes rows of all products by turns.
template <class In, class Out>
__global__ void __launch_bounds__(threads_per_block)
    scaled_kernel(const __grid_constant__ GemmDescription d, int across, const DeviceAccumulator<In>* sums,
                  OperandLayout sums_layout, const DeviceAccumulator<In>* row_scales,
                  const DeviceAccumulator<In>* column_scales, bool is_transposed, Out* c,
                  const __grid_constant__ Epilogue<In, Out> epilogue) {
  const int thread = static_cast<int>(threadIdx.x);
  const int down = threads_per_block / across;
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * across + thread % across;
  if (j >= d.n) return;
  for (std::int64_t line = static_cast<std::int64_t>(blockIdx.y) * down + thread / across; line < d.m * d.batch_count;
       line += static_cast<std::int64_t>(gridDim.y) * down) {
    const std::int64_t product = line / d.m;
    const std::int64_t i = line - product * d.m;
    DeviceAccumulator<In> sum =
        product_base(sums, sums_layout, product)[i * sums_layout.row_stride + j * sums_layout.column_stride];
    if constexpr (!is_complex_v<DeviceAccumulator<In>>) {
      const DeviceAccumulator<In> of_row = row_scales == nullptr ? DeviceAccumulator<In>(1) : row_scales[i];
      const DeviceAccumulator<In> of_column = column_scales == nullptr ? DeviceAccumulator<In>(1) : column_scales[j];
      sum = multiply(sum, is_transposed ? of_column : of_row);
      sum = multiply(sum, is_transposed ? of_row : of_column);
    }
    epilogue.store(product_base(c, d.c, product) + i * d.c.row_stride + j * d.c.column_stride, sum, i, j);
  }
}

class ScaledProduct final : public DeviceProduct {
 public:
  ScaledProduct(const Kernel& kernel, const plan::Problem& problem, const Device& device,
                const Configuration& configuration)
      : sums_layout_(layout_of_sums(problem.description)),
        is_transposed_(sums_layout_.row_stride == 1),
        d_(is_transposed_ ? plan::transposed(problem.description) : problem.description),
        product_(kernel.make(problem_of_sums(problem), device, configuration)) {
    sums_bytes_ = core::round_up(
        d_.batch_count * sums_layout_.batch_stride * size_in_bytes(accumulator_type(d_.types.input)), alignment);
    if (is_transposed_) std::swap(sums_layout_.row_stride, sums_layout_.column_stride);
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    auto* const workspace = static_cast<std::byte*>(launch.workspace);
    const GemmArguments of_sums = plan::sums_alone(launch.arguments, workspace);
    if (Status s = product_->launch({.arguments = of_sums,
                                     .workspace = workspace + sums_bytes_,
                                     .stream = launch.stream,
                                     .prepared_a = launch.prepared_a,
                                     .prepared_b = launch.prepared_b,
                                     .path_counts = launch.path_counts});
        !s.ok())
      return s;
    const GemmArguments arguments = is_transposed_ ? plan::transposed(launch.arguments) : launch.arguments;
    return finish_sums(d_, arguments, workspace, sums_layout_, is_transposed_, launch.stream);
  }

  [[nodiscard]] std::string blocking() const override {
    const std::string text = product_->blocking();
    return text + (text.empty() ? "" : " ") + "scales=afterwards";
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return sums_bytes_ + product_->workspace_bytes(); }
  [[nodiscard]] std::int64_t workspace_bytes_for(const GemmArguments& arguments) const override {
    // The sums' own address is well aligned, as a null pointer is.
    return sums_bytes_ + product_->workspace_bytes_for(plan::sums_alone(arguments, nullptr));
  }
  [[nodiscard]] double model_bytes() const override {
    return product_->model_bytes() +
           static_cast<double>(d_.m * d_.n * d_.batch_count) *
               static_cast<double>(size_in_bytes(accumulator_type(d_.types.input)) + size_in_bytes(d_.types.output));
  }
  [[nodiscard]] std::int64_t prepared_bytes(Operand operand) const override {
    return product_->prepared_bytes(operand);
  }
  [[nodiscard]] Status prepare(Operand operand, const void* elements, void* form, cudaStream_t stream) const override {
    return product_->prepare(operand, elements, form, stream);
  }
  [[nodiscard]] std::vector<Path> paths() const override { return product_->paths(); }

 private:
  OperandLayout sums_layout_;  ///< read as d_ is
  bool is_transposed_;         ///< so that a row of C has the shorter stride
  GemmDescription d_;
  std::unique_ptr<DeviceProduct> product_;
  std::int64_t sums_bytes_;
};

}  // namespace

std::string_view scaled_refuses(const Kernel& kernel, const plan::Problem& problem, const Device& device) {
  const plan::Problem sums = problem_of_sums(problem);
  if (std::ranges::find(kernel.types, sums.description.types) == kernel.types.end())
    return "neither scales rows and columns nor leaves sums that could be scaled";
  return kernel.refuses(sums, device);
}

std::string_view no_room_for_sums(const plan::Problem& problem, const Device& device) {
  if (bytes_of_sums(problem.description) > 0.4 * static_cast<double>(device.memory_bytes))
    return "needs more memory for sums to be scaled than there is";
  return {};
}

std::vector<Candidate> scaled_candidates(const Kernel& kernel, const plan::Problem& problem, const Device& device) {
  std::vector<Candidate> all = kernel.candidates(problem_of_sums(problem), device);
  for (Candidate& candidate : all) {
    ++candidate.demand.side_kernels;
    candidate.demand.copied_bytes += 2 * bytes_of_sums(problem.description);
  }
  return all;
}

Status finish_sums(const GemmDescription& d, const GemmArguments& arguments, const void* sums,
                   const OperandLayout& sums_layout, bool is_transposed, cudaStream_t stream) {
  return with_types(d.types, [&]<class In, class Out>() {
    using Accumulator = DeviceAccumulator<In>;
    if constexpr (!std::is_integral_v<Accumulator>) {
      int across = 1;
      while (across < threads_per_block && across < d.n) across *= 2;
      const int down = threads_per_block / across;
      const dim3 grid(static_cast<unsigned>((d.n - 1) / across + 1),
                      static_cast<unsigned>(std::min((d.m * d.batch_count - 1) / down + 1, most_blocks)));
      scaled_kernel<In, Out><<<grid, threads_per_block, 0, stream>>>(
          d, across, static_cast<const Accumulator*>(sums), sums_layout,
          d.row_scales ? static_cast<const Accumulator*>(arguments.row_scales) : nullptr,
          d.column_scales ? static_cast<const Accumulator*>(arguments.column_scales) : nullptr, is_transposed,
          static_cast<Out*>(arguments.c), Epilogue<In, Out>(d, arguments));
    }
    return check_launch("finish_sums");
  });
}

std::unique_ptr<DeviceProduct> make_scaled(const Kernel& kernel, const plan::Problem& problem, const Device& device,
                                           const Configuration& configuration) {
  return std::make_unique<ScaledProduct>(kernel, problem, device, configuration);
}

}  // namespace exactile::cuda
