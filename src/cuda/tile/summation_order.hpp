// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order in which the SIMT kernels sum, whatever their tile, their split of K and their device.
///
/// K is cut into chunks of chunk_terms. The sum of a chunk starts at zero and takes its terms in order, one fused
/// multiply-add each. The chunks are added in order: the first gives x = fma(alpha, sum, beta * C), or alpha * sum
/// where beta is 0, each further one x = fma(alpha, sum, x). Then come bias, activation and the rounding to C's type.
/// For f32 this is the CPU's order as well (decision 0006), so that both give the same bits.
#pragma once

namespace exactile::cuda {

inline constexpr int chunk_terms = 512;

}  // namespace exactile::cuda
