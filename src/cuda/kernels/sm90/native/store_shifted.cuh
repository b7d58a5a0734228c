// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums in registers to rows of C at any address, in words of 16 bytes: rows are put into shared memory as far off
/// a multiple of 16 bytes as they are in C. Only what lies in a row's first and last word goes element by element.
#pragma once

#include "cuda/kernels/sm90/native/store_boxes.cuh"

namespace exactile::cuda::sm90::native {

/// Bytes of a row that a warp stages at a time, of so many in a tile: at most what its share of the staging holds.
[[nodiscard]] constexpr int shifted_width(int bytes) {
  int width = 512;
  while (bytes % width != 0) width /= 2;
  return width;
}

/// A warp's share of the staging: eight rows, of which a thread has sums of one.
template <int width>
struct ShiftedRows {
  static constexpr int words = width / 16;  ///< of a row
  static constexpr int rows = 8;
  static_assert(width >= 32 && (width & (width - 1)) == 0);

  std::byte* data;

  /// Of a byte of a row that is `shift` off. A row is a ring: its end comes before its begin, in the same word. Each
  /// begins a word further on, so that rows lie in different banks.
  [[nodiscard]] __device__ std::byte* at(int row, int shift, int byte) const {
    return data + row * width + ((byte + shift + 16 * row) & (width - 1));
  }
};

/// Stores to contiguous rows at any address, `bytes` an element, by a warp its own 16.
template <class T, int bytes, int width>
__device__ inline void store_shifted_rows(const typename T::Accumulator (&sums)[T::tile_n / 2],
                                          const Output<typename T::Accumulator>& c, Staging (&staging)[2],
                                          const FragmentCoord& at) {
  using Rows = ShiftedRows<width>;
  using Bits = std::conditional_t<bytes == 2, std::uint16_t, std::uint32_t>;
  constexpr int piece_columns = width / bytes;
  constexpr int at_once = 32 / Rows::words;  // rows that a warp stores at a time
  static_assert(sizeof(staging) >= 4 * Rows::rows * width && T::tile_n % piece_columns == 0);
  const Rows lines{staging[0].data + at.warp * Rows::rows * width};
  const std::int64_t pitch = c.layout.row_stride * bytes;
  const int first_row = at.row + 16 * at.warp;
  std::byte* const corner =
      matrix_of<bytes>(c, at.batch) + first_row * pitch + static_cast<std::int64_t>(at.column) * bytes;
  const auto shift_of = [](const std::byte* to) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(to) % 16); };
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int piece = 0; piece < T::tile_n / piece_columns; ++piece) {
      const int columns = min(piece_columns, c.columns - at.column - piece * piece_columns);
      if (columns <= 0) break;
      std::byte* const to = corner + half * 8 * pitch + piece * width;
      __syncwarp();
      {
        const int row = at.lane / 4;
        const int shift = shift_of(to + row * pitch);
#pragma unroll
        for (int g = 0; g < piece_columns / 8; ++g) {
          const int j = piece * piece_columns / 8 + g;
          const typename T::Accumulator x = sums[4 * j + 2 * half];
          const typename T::Accumulator y = sums[4 * j + 2 * half + 1];
          const int byte = (8 * g + 2 * (at.lane % 4)) * bytes;
          Bits first, second;
          if constexpr (bytes == 2) {
            const std::uint32_t pair = c.template half_pair<typename T::Element>(x, y);
            first = static_cast<Bits>(pair);
            second = static_cast<Bits>(pair >> 16);
          } else {
            first = __builtin_bit_cast(Bits, x);
            second = __builtin_bit_cast(Bits, y);
          }
          *reinterpret_cast<Bits*>(lines.at(row, shift, byte)) = first;
          *reinterpret_cast<Bits*>(lines.at(row, shift, byte + bytes)) = second;
        }
      }
      __syncwarp();
      const int word = at.lane % Rows::words;
#pragma unroll
      for (int first = 0; first < Rows::rows; first += at_once) {
        const int row = first + at.lane / Rows::words;
        if (first_row + half * 8 + row >= at.row_end) continue;
        std::byte* const begin = to + row * pitch;
        const int shift = shift_of(begin);
        const int end = shift + columns * bytes;  // from the word that the row begins in
        std::byte* const words = begin - shift;
        const std::byte* const from = lines.at(row, 0, 16 * word);
        if (word > 0 || shift == 0) {
          if (16 * word + 16 <= end) {
            *reinterpret_cast<uint4*>(words + 16 * word) = *reinterpret_cast<const uint4*>(from);
          } else {
            for (int byte = 0; 16 * word + byte < end; byte += bytes)
              *reinterpret_cast<Bits*>(words + 16 * word + byte) = *reinterpret_cast<const Bits*>(from + byte);
          }
        }
      }
      // The first word of each row has the end of a whole row before its begin.
      constexpr int in_word = 16 / bytes;
#pragma unroll
      for (int e = at.lane; e < Rows::rows * in_word; e += 32) {
        const int row = e / in_word, byte = e % in_word * bytes;
        if (first_row + half * 8 + row >= at.row_end) continue;
        std::byte* const begin = to + row * pitch;
        const int shift = shift_of(begin);
        if (shift == 0) continue;
        const int place = byte < shift ? width + byte : byte;
        if (place < shift + columns * bytes)
          *reinterpret_cast<Bits*>(begin - shift + place) = *reinterpret_cast<const Bits*>(lines.at(row, 0, byte));
      }
    }
  }
}

}  // namespace exactile::cuda::sm90::native
