// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrices of 8 by 8 elements of 16 bits from a warp's registers to shared memory (PTX stmatrix, sm_90).
#pragma once

#include <cstdint>

#include "cuda/isa/mbarrier.cuh"

namespace exactile::cuda::isa {

/// Four matrices: lane l holds elements 2 (l % 4) and the next of row l / 4 of each; lanes 8i ... 8i + 7 say where the
/// rows of matrix i go, 16 bytes each.
__device__ inline void store_matrices(void* row, const std::uint32_t (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

/// Two matrices, stored by columns: lane l holds elements 2 (l % 4) and the next of row l / 4 of each; lanes 8i ... 8i
/// + 7 say where the columns of matrix i go, 16 bytes each.
__device__ inline void store_matrices_transposed(void* column, std::uint32_t first, std::uint32_t second) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(column)),
               "r"(first), "r"(second)
               : "memory");
}

}  // namespace exactile::cuda::isa
