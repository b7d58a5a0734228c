// SPDX-License-Identifier: Apache-2.0
#include "cuda/model/link.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "cuda/kernel.hpp"
#include "cuda/kernel_list.hpp"
#include "cuda/model/rank.hpp"
#include "cuda/runtime/device.hpp"

namespace exactile::cuda::model {
namespace {

constexpr std::size_t large = std::size_t{64} << 20;
constexpr std::size_t small = 4096;

using DeviceBytes = std::unique_ptr<void, decltype([](void* memory) { static_cast<void>(cudaFree(memory)); })>;
using PinnedBytes = std::unique_ptr<void, decltype([](void* memory) { static_cast<void>(cudaFreeHost(memory)); })>;
using Stream = std::unique_ptr<CUstream_st, decltype([](cudaStream_t s) { static_cast<void>(cudaStreamDestroy(s)); })>;

/// The least time of so many rounds of `work`, waiting included.
template <class Work>
Result<double> least_seconds(int rounds, cudaStream_t stream, Work work) {
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    if (Status s = check(work(), "cudaMemcpyAsync"); !s.ok()) return s;
    if (Status s = check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); !s.ok()) return s;
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

}  // namespace

Result<plan::HostLink> measure_link(const Device& device) {
  const DeviceGuard guard(device.index);
  if (!guard.status().ok()) return guard.status();
  void* there = nullptr;
  void* pinned = nullptr;
  cudaStream_t queue = nullptr;
  if (Status s = check(cudaMalloc(&there, large), "cudaMalloc"); !s.ok()) return s;
  const DeviceBytes keeps_there(there);
  if (Status s = check(cudaHostAlloc(&pinned, large, cudaHostAllocPortable), "cudaHostAlloc"); !s.ok()) return s;
  const PinnedBytes keeps_pinned(pinned);
  if (Status s = check(cudaStreamCreateWithFlags(&queue, cudaStreamNonBlocking), "cudaStreamCreate"); !s.ok()) return s;
  const Stream keeps_queue(queue);
  const std::vector<char> pageable(large, 1);
  const auto copy = least_seconds(8, queue, [&] {
    std::memcpy(pinned, pageable.data(), large);
    return cudaSuccess;
  });
  const auto up =
      least_seconds(8, queue, [&] { return cudaMemcpyAsync(there, pinned, large, cudaMemcpyHostToDevice, queue); });
  const auto round_trip = least_seconds(200, queue, [&] {
    const cudaError_t sent = cudaMemcpyAsync(there, pinned, small, cudaMemcpyHostToDevice, queue);
    const cudaError_t set = cudaMemsetAsync(there, 0, small, queue);  // in a kernel's place
    const cudaError_t fetched = cudaMemcpyAsync(pinned, there, small, cudaMemcpyDeviceToHost, queue);
    return sent != cudaSuccess ? sent : set != cudaSuccess ? set : fetched;
  });
  for (const auto* time : {&copy, &up, &round_trip})
    if (!time->ok()) return time->status();
  return plan::HostLink{.bytes_per_second = static_cast<double>(large) / up.value(),
                        .round_trip_seconds = round_trip.value(),
                        .copy_bytes_per_second = static_cast<double>(large) / copy.value()};
}

Result<double> measure_host_launch(const Device& device) {
  constexpr std::int64_t side = 64;
  constexpr int rounds = 50, launches = 100;  // fewer than a stream holds
  constexpr GemmTypes types{ElementType::bf16, ElementType::bf16};
  const plan::Problem problem{
      .description = {.types = types, .m = side, .n = side, .k = side, .a = {side, 1}, .b = {side, 1}, .c = {side, 1}},
      .memory = Memory::device};
  std::unique_ptr<DeviceProduct> product;
  for (const Kernel* kernel : kernels()) {
    if (product != nullptr) break;
    if (!can_do(*kernel, problem, device)) continue;
    const std::vector<Candidate> candidates = kernel->candidates(problem, device);
    const auto alone = std::ranges::find_if(candidates, [](const Candidate& c) { return c.demand.side_kernels == 0; });
    if (alone != candidates.end()) product = kernel->make(problem, device, alone->configuration);
    if (product != nullptr && product->workspace_bytes() > 0) product.reset();
  }
  if (product == nullptr) return Status(StatusCode::unsupported, "no kernel multiplies bf16 in one launch");
  const DeviceGuard guard(device.index);
  if (!guard.status().ok()) return guard.status();
  void* there = nullptr;
  cudaStream_t queue = nullptr;
  if (Status s = check(cudaMalloc(&there, 3 * small * 2), "cudaMalloc"); !s.ok()) return s;
  const DeviceBytes keeps_there(there);
  if (Status s = check(cudaStreamCreateWithFlags(&queue, cudaStreamNonBlocking), "cudaStreamCreate"); !s.ok()) return s;
  const Stream keeps_queue(queue);
  auto* const bytes = static_cast<std::byte*>(there);
  const GemmArguments arguments{.a = bytes, .b = bytes + 2 * small, .c = bytes + 4 * small};
  std::array<double, rounds> seconds{};
  for (double& of_round : seconds) {
    const auto start = std::chrono::steady_clock::now();
    for (int launch = 0; launch < launches; ++launch)
      if (Status s = product->launch({.arguments = arguments, .stream = queue}); !s.ok()) return s;
    of_round = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / launches;
    if (Status s = check(cudaStreamSynchronize(queue), "cudaStreamSynchronize"); !s.ok()) return s;
  }
  std::ranges::sort(seconds);
  return seconds[rounds / 2];
}

}  // namespace exactile::cuda::model
