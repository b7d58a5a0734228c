// SPDX-License-Identifier: Apache-2.0
/// \file
/// The wrappers of mbarrier.cuh and tma.cuh for places in shared memory named by their 32-bit address: a ring's are
/// then a product and a sum in uniform registers, where pointers are worked out by each thread again and again.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/isa/wgmma_tile.cuh"

namespace exactile::cuda::isa {

/// mbarrier.arrive.expect_tx: arrives, and the phase now waits for `bytes` more.
__device__ inline void mbarrier_arrive_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// mbarrier.arrive.shared::cluster at what mapa() gave. Without .release.cluster, as mbarrier_arrive_remote().
__device__ inline void mbarrier_arrive_there(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// mbarrier.try_wait.parity, again and again until the phase of that parity has ended.
__device__ inline void mbarrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// mapa.shared::cluster: the same place in CTA `rank` of the cluster.
[[nodiscard]] __device__ inline std::uint32_t mapa(std::uint32_t place, std::uint32_t rank) {
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place), "r"(rank));
  return there;
}

/// The matrix descriptor of a tile in rows of 128 bytes, as of a pointer to it.
template <Major major>
[[nodiscard]] __device__ inline std::uint64_t wgmma_tile_descriptor(std::uint32_t tile, std::uint32_t next_64) {
  constexpr std::uint64_t swizzle_128 = 1ull << 62;
  constexpr std::uint64_t stride = static_cast<std::uint64_t>(1024 >> 4) << 32;  // from 8 rows to the next 8
  const std::uint32_t leading = major == Major::k ? 1 : next_64 >> 4;
  // In CTA 1 of a cluster the address has bits above the 18 that a descriptor holds.
  return swizzle_128 | stride | (leading << 16 | (tile & 0x3FFFF) >> 4);
}

/// cp.async.bulk.tensor.3d to this CTA's shared memory; its bytes are counted at `barrier`.
__device__ inline void tma_load(std::uint32_t shared, const CUtensorMap* map, int x, int y, int z,
                                std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

/// The same with a policy for what L2 keeps.
__device__ inline void tma_load(std::uint32_t shared, const CUtensorMap* map, int x, int y, int z,
                                std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "l"(policy)
      : "memory");
}

/// The same with .multicast::cluster: to the same place in every CTA of `mask`, counted at the same barrier of each.
__device__ inline void tma_load_multicast(std::uint32_t shared, const CUtensorMap* map, int x, int y, int z,
                                          std::uint32_t barrier, std::uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(mask)
      : "memory");
}

}  // namespace exactile::cuda::isa
