// SPDX-License-Identifier: Apache-2.0
#include "cuda/model/read_through.hpp"
#include "cuda/runtime/device.hpp"

namespace exactile::cuda::model {
namespace {

__global__ void read_all(const uint4* words, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    uint4 word;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(words + i));
  }
}

}  // namespace

Status read_through(const std::byte* data, std::int64_t bytes, cudaStream_t stream) {
  constexpr int blocks = 1024, threads = 256;
  read_all<<<blocks, threads, 0, stream>>>(reinterpret_cast<const uint4*>(data),
                                           bytes / static_cast<std::int64_t>(sizeof(uint4)));
  return check(cudaGetLastError(), "reading through L2");
}

}  // namespace exactile::cuda::model
