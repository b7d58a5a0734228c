// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

/// The same on the FP64 tensor cores: 8 x 8 x 4 products of a warp.
__global__ void __launch_bounds__(threads_per_block) tensor_chains([[maybe_unused]] double factor, double* sink) {
  double sums[chains][2];
  for (int i = 0; i < chains; ++i) sums[i][0] = sums[i][1] = threadIdx.x + i;
#if __CUDA_ARCH__ >= 800
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < chains; ++i)
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%2}, {%0, %1};"
                   : "+d"(sums[i][0]), "+d"(sums[i][1])
                   : "d"(factor));
  }
#endif
  double sum = 0;
  for (int i = 0; i < chains; ++i) sum += sums[i][0] + sums[i][1];
  if (sum == 12345) *sink = sum;
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
  const DeviceGuard guard(device);
  const auto blocks = static_cast<unsigned>(facts.multiprocessors * 8);
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
      return best_rate(context, 2.0 * 8 * 8 * 4 * (threads / 32) * rounds * chains, [&](cudaStream_t stream) {
        tensor_chains<<<blocks, threads_per_block, 0, stream>>>(1.0, nullptr);
      });
    case ElementType::f32:
    case ElementType::cf32: return chain(1.0f);
    case ElementType::i32: return chain(std::int32_t{3});
    case ElementType::i64: return chain(std::int64_t{3});
    default:
      return Status(StatusCode::not_yet_available, "the peak of the tensor cores for narrow types is not measured yet");
  }
}

}  // namespace exactile::cuda
