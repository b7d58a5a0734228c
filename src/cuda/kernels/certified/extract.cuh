// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of f64 in two parts, by extraction against a constant (S. M. Rump, T. Ogita and S. Oishi, Accurate
/// floating-point summation, 2008): four instructions a term. A chain starts at 3 r_i c_j, powers of two, r_i being
/// larger than row i's sum of absolute values and c_j than column j's largest one. So all sums on the way have one
/// exponent: what a multiply-add adds to the chain is known without an error, and the rest of the product is, too, but
/// for one rounding. The rests are summed in chunks. A block computes 64 x 64 elements, a thread 4 x 4.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/certified/parameters.cuh"
#include "cuda/kernels/certified/rounding.cuh"

namespace exactile::cuda::certified {

inline constexpr int extract_tile = 64;
inline constexpr int extract_k = 16;
inline constexpr int extract_stages = 3;
inline constexpr int extract_threads = 256;
inline constexpr int extract_shared_bytes = extract_stages * 2 * extract_k * extract_tile * 8;

struct Extraction {
  Panel a;  ///< both with lanes side by side, an even number of them apart
  Panel b;
  Sums sums;
  std::int64_t products;
};

/// Begins the copies of 16 terms of 64 lanes.
__device__ inline void copy_terms(double* to, const Panel& p, const double* elements, std::int64_t lane,
                                  std::int64_t term) {
#pragma unroll
  for (int pair = static_cast<int>(threadIdx.x); pair < extract_k * extract_tile / 2; pair += extract_threads) {
    const int l = pair % (extract_tile / 2) * 2;
    const int t = pair / (extract_tile / 2);
    const std::int64_t left = term + t < p.terms ? p.lanes - lane - l : 0;
    const double* from = elements + (left > 0 ? (term + t) * p.term_stride + lane + l : 0);
    isa::copy_async<16>(to + t * extract_tile + l, from, left > 1 ? 16 : left == 1 ? 8 : 0);
  }
}

__global__ void __launch_bounds__(extract_threads) extract_kernel(const __grid_constant__ Extraction e) {
  extern __shared__ double stages[];
  const int x = static_cast<int>(threadIdx.x % 16);  // rows 4x to 4x + 3
  const int y = static_cast<int>(threadIdx.x / 16);  // columns
  const std::int64_t tiles_m = (e.a.lanes + extract_tile - 1) / extract_tile;
  const std::int64_t row = blockIdx.x % tiles_m * extract_tile;
  const std::int64_t column = blockIdx.x / tiles_m * extract_tile;
  for (std::int64_t product = blockIdx.y; product < e.products; product += gridDim.y) {
    const double* const a = e.a.elements + product * e.a.product_stride;
    const double* const b = e.b.elements + product * e.b.product_stride;
    const auto copy = [&](std::int64_t step) {
      double* const to = stages + step % extract_stages * (2 * extract_k * extract_tile);
      if (step * extract_k < e.a.terms) {
        copy_terms(to, e.a, a, row, step * extract_k);
        copy_terms(to + extract_k * extract_tile, e.b, b, column, step * extract_k);
      }
      isa::copy_async_commit();
    };
    double high[4][4];
    double low[4][4] = {};
    double chunks[4][4] = {};
    const auto start = [&](int i, int j) {
      const double r = row + 4 * x + i < e.a.lanes ? e.a.line(product, row + 4 * x + i).norm : 0;
      const double c = column + 4 * y + j < e.b.lanes ? e.b.line(product, column + 4 * y + j).norm : 0;
      return multiply_rn(3 * r, c);
    };
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) high[i][j] = start(i, j);
    const std::int64_t steps = (e.a.terms + extract_k - 1) / extract_k;
    for (int s = 0; s + 1 < extract_stages; ++s) copy(s);
    for (std::int64_t step = 0; step < steps; ++step) {
      isa::copy_async_wait<extract_stages - 2>();
      __syncthreads();
      copy(step + extract_stages - 1);
      const double* const from = stages + step % extract_stages * (2 * extract_k * extract_tile);
#pragma unroll 4
      for (int t = 0; t < extract_k; ++t) {
        double left[4];
        double right[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) left[i] = from[t * extract_tile + 4 * x + i];
#pragma unroll
        for (int j = 0; j < 4; ++j) right[j] = from[(extract_k + t) * extract_tile + 4 * y + j];
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const double sum = fma(left[i], right[j], high[i][j]);
            const double part = add_rn(sum, -high[i][j]);
            high[i][j] = sum;
            low[i][j] = add_rn(low[i][j], fma(left[i], right[j], -part));
          }
      }
      if ((step + 1) % (chunk_k / extract_k) == 0 || step + 1 == steps) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            chunks[i][j] = add_rn(chunks[i][j], low[i][j]);
            low[i][j] = 0;
          }
      }
    }
    isa::copy_async_wait<0>();
    __syncthreads();
    const std::int64_t to = product * e.sums.product_stride + column * e.sums.pitch + row;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (row + 4 * x + i >= e.a.lanes || column + 4 * y + j >= e.b.lanes) continue;
        const std::int64_t at = to + (4 * y + j) * e.sums.pitch + 4 * x + i;
        e.sums.high[at] = add_rn(high[i][j], -start(i, j));
        e.sums.low[at] = chunks[i][j];
      }
  }
}

}  // namespace exactile::cuda::certified
