// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order in which the SIMT kernels sum, whatever their device, and but for small tiles whatever their split-K.
///
/// K is cut into chunks of chunk_k. The sum of a chunk starts at zero and takes its products in order, one fused
/// multiply-add each. The chunks are added in order: the first gives x = fma(alpha, sum, beta * C), or alpha * sum
/// where beta is 0, each further one x = fma(alpha, sum, x). Then come bias, activation and the rounding to C's type.
/// For f32 in large tiles this is the CPU's order as well (decision 0006): both give the same bits.
///
/// Small tiles of f32 sum a chunk in pieces (decision 0014): each piece starts at zero,
/// and is added to the chunk's sum, in order. An error then grows with the length of a piece and the number of pieces
/// instead of the length of a chunk. Where SPLIT_K asks for more slices than there are chunks, each slice is a chunk of
/// its own (not under GemmOptions::reproducible).
#pragma once

namespace exactile::cuda {

inline constexpr int chunk_k = 512;

/// Of K in a piece in small tiles: in order, as in a chunk.
inline constexpr int tile_piece_k = 32;

}  // namespace exactile::cuda
