// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cuda/isa/mma_f64.cuh"
#include "cuda/kernels/sm90/tensor_peak.hpp"
#include "cuda/peak.hpp"
#include "cuda/runtime/context.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/tile/types.cuh"

namespace exactile::cuda {
namespace {

constexpr int threads_per_block = 512;
constexpr int rounds = 4096;
constexpr int chains = 8;

/// Independent chains of multiply-adds in registers; the store keeps them alive and never happens.
template <class T>
__global__ void __launch_bounds__(threads_per_block) multiply_add_chains(T factor, T* sink) {
  T sums[chains];
  for (int i = 0; i < chains; ++i) sums[i] = static_cast<T>(threadIdx.x + i);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < chains; ++i) sums[i] = multiply_add(sums[i], factor, sums[(i + 1) % chains]);
  }
  T sum{};
  for (int i = 0; i < chains; ++i) sum = add(sum, sums[i]);
  if (sum == static_cast<T>(12345)) *sink = sum;
}

/// The same on the FP64 tensor cores, by the largest instruction that they have.
__global__ void __launch_bounds__(threads_per_block) tensor_chains(double factor, double* sink) {
  double sum = 0;
#if __CUDA_ARCH__ >= 900
  double sums[chains][4];
  const double a[4] = {factor, factor, factor, factor};
  const double b[2] = {factor, factor};
  for (int i = 0; i < chains; ++i) sums[i][0] = sums[i][1] = sums[i][2] = sums[i][3] = threadIdx.x + i;
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < chains; ++i) isa::mma_m16n8k8(sums[i], a, b);
  for (int i = 0; i < chains; ++i) sum += sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];
#elif __CUDA_ARCH__ >= 800
  double sums[chains][2];
  for (int i = 0; i < chains; ++i) sums[i][0] = sums[i][1] = threadIdx.x + i;
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < chains; ++i) isa::mma_m8n8k4(sums[i][0], sums[i][1], factor, factor);
  for (int i = 0; i < chains; ++i) sum += sums[i][0] + sums[i][1];
#endif
  if (sum == 12345) *sink = sum;
}

/// Multiply-adds of a warp in one instruction of tensor_chains(): what it was compiled for, not where it runs.
Result<double> multiply_adds_of_tensor_chains() {
  cudaFuncAttributes attributes{};
  if (Status s = check(cudaFuncGetAttributes(&attributes, tensor_chains), "cudaFuncGetAttributes", "peak"); !s.ok())
    return s;
  return attributes.ptxVersion >= 90 ? 16.0 * 8 * 8 : 8.0 * 8 * 4;
}

/// Operations per second: the best of a few launches, because a peak is what nothing disturbed.
template <class Launch>
Result<double> best_rate(plan::DeviceContext& context, double operations, Launch&& launch) {
  double best = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const Result<double> seconds = context.time([&] {
      launch(static_cast<cudaStream_t>(context.execution().queue));
      return check_launch("peak");
    });
    if (!seconds.ok()) return seconds.status();
    best = std::max(best, operations / seconds.value());
  }
  return best;
}

}  // namespace

Result<double> measure_peak(GemmTypes types, int device, int) {
  auto opened = open_context(device);
  if (!opened.ok()) return opened.status();
  plan::DeviceContext& context = *opened.value();
  const Device& facts = devices()[static_cast<std::size_t>(device)];
  const DeviceGuard guard(facts.index);
  const auto blocks = static_cast<unsigned>(facts.sm_count * 8);
  const double threads = static_cast<double>(blocks) * threads_per_block;
  const auto chain = [&]<class T>(T factor) {
    return best_rate(context, 2.0 * threads * rounds * chains, [&](cudaStream_t stream) {
      multiply_add_chains<T><<<blocks, threads_per_block, 0, stream>>>(factor, nullptr);
    });
  };
  switch (types.input) {
    case ElementType::f64:
    case ElementType::cf64:
      if (facts.compute_capability < 80) return chain(1.0);
      {
        const Result<double> multiply_adds = multiply_adds_of_tensor_chains();
        if (!multiply_adds.ok()) return multiply_adds.status();
        return best_rate(
            context, 2 * multiply_adds.value() * (threads / 32) * rounds * chains,
            [&](cudaStream_t stream) { tensor_chains<<<blocks, threads_per_block, 0, stream>>>(1.0, nullptr); });
      }
    case ElementType::f32:
    case ElementType::cf32: return chain(1.0f);
    case ElementType::i32: return chain(std::int32_t{3});
    case ElementType::i64: return chain(std::int64_t{3});
    default: {
      const auto launch = [&](cudaStream_t stream) {
        return launch_sm90_tensor_peak(types.input, facts.sm_count, stream);
      };
      double operations = 0;
      if (facts.compute_capability == 90) operations = launch(static_cast<cudaStream_t>(context.execution().queue));
      if (operations == 0)
        return Status(StatusCode::not_yet_available, "the peak of this device's tensor cores is not measured");
      return best_rate(context, operations, launch);
    }
  }
}

}  // namespace exactile::cuda
