// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a product is laid over the device: which way round, how wide the tiles, in how many chunks of K.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda::sm90::narrow {

/// Sums longer than this are formed in chunks of chunk_k, added in their order: the order of a sum depends on k alone.
inline constexpr std::int64_t longest_sum = 32768;
inline constexpr std::int64_t chunk_k = 8192;
[[nodiscard]] constexpr std::int64_t chunks_of(std::int64_t k) {
  return k <= longest_sum ? 1 : (k + chunk_k - 1) / chunk_k;
}

/// Columns of C that a CTA computes at a time: the widths there are kernels of.
inline constexpr int tile_widths[] = {256, 128, 64, 16};
inline constexpr int tile_rows = 128;
/// CTAs, one above the other, that load columns of B for each other.
[[nodiscard]] constexpr int cluster_size(int tile_n) { return tile_n >= 128 ? 2 : 1; }

struct Layout {
  GemmDescription d;   ///< as computed: of C, or of C^T = B^T A^T
  bool is_transposed;  ///< A and B have changed places
  int tile_n;
  std::int64_t chunks;
  double seconds;  ///< estimated

  [[nodiscard]] int cluster() const { return cluster_size(tile_n); }
};

/// The direction in which TMA can read an operand (its strides; the address is known later), or neither.
enum class Reach { along_k, along_lines, none };
/// `layout`: row_stride from line to line, column_stride along k. `element`: as multiplied.
[[nodiscard]] Reach reach_of(const OperandLayout& layout, ElementType element, bool is_converted);

/// Whether kernels of that width take the operand with its lines contiguous: wide ones B, narrow ones A, 64 both.
[[nodiscard]] constexpr bool takes_along_lines(bool is_a, int tile_n) { return is_a ? tile_n < 128 : tile_n >= 64; }

/// The cheaper way round, with tiles of that width.
[[nodiscard]] Layout choose_layout(const GemmDescription& description, int tile_n, const Device& device);

/// The type the tensor cores multiply: f16 for the 8-bit floats.
[[nodiscard]] ElementType multiplied_type(ElementType type);

}  // namespace exactile::cuda::sm90::narrow
