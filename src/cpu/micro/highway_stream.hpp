// SPDX-License-Identifier: Apache-2.0
/// \file
/// Few rows of A against a B that is read once from memory.
///
/// The sums live in a strip of L1 and are loaded and stored once per four terms, which makes four streams of B, asked
/// for further ahead than a processor looks by itself. Order of summation: as TileShape says.
#pragma once

#include "cpu/micro/highway_tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

inline constexpr int terms_at_once = 4;
inline constexpr std::int64_t strip_bytes = 32768;

/// Bytes from what is read to what is asked for, along each stream.
inline constexpr std::int64_t ahead_in_row = 1024;

/// Adds `Terms` terms to one vector of sums per row, and asks for what lies `ahead` elements on.
template <class T, int Rows, int Terms, bool Masked>
HWY_INLINE void stream_vector(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, std::int64_t ahead,
                              T* sums, std::int64_t strip, FirstLanes<Lanes<T>> mask) {
  const Lanes<T> d;
  Vector<T> sum[Rows];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) sum[i] = hn::LoadU(d, sums + i * strip);
#pragma GCC unroll 8
  for (int p = 0; p < Terms; ++p) {
    const Vector<T> b_row = load<T, 1, Masked>(b + p * b_stride, 0, mask);
    if constexpr (Terms > 1) __builtin_prefetch(b + p * b_stride + ahead);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) multiply_add_into(sum[i], hn::Set(d, a[i * a_stride + p]), b_row);
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) hn::StoreU(sum[i], d, sums + i * strip);
}

template <class T, int Rows, int Terms>
HWY_INLINE void stream_rows(const TileShape& shape, const T* a_rows, const T* b_rows, std::int64_t p,
                            std::int64_t columns, T* sums, std::int64_t strip) {
  constexpr int lanes = lane_count<T>;
  // A's few elements are copied side by side first: their addresses are then constants of the loop below.
  T a[Rows * Terms];
  for (int i = 0; i < Rows; ++i)
    for (int q = 0; q < Terms; ++q) a[i * Terms + q] = a_rows[i * shape.a_stride + p + q];
  const T* b = b_rows + p * shape.b_stride;
  const auto all = first_lanes(Lanes<T>(), static_cast<std::size_t>(lanes));
  std::int64_t j = 0;
  const auto add_up_to = [&](std::int64_t end, std::int64_t ahead) __attribute__((always_inline)) {
    for (; j + lanes <= end; j += lanes)
      stream_vector<T, Rows, Terms, false>(a, Terms, b + j, shape.b_stride, ahead, sums + j, strip, all);
  };
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  std::int64_t ahead = 0;
  if constexpr (Terms > 1) {  // none may follow the last rows, which come one by one
    if (columns * size < 2 * ahead_in_row) {
      // The rows that come next but one: they lie pages away, where no hardware prefetcher looks.
      ahead = 2 * Terms * shape.b_stride;
    } else {
      add_up_to(columns - ahead_in_row / size, ahead_in_row / size);
      ahead = Terms * shape.b_stride - j;
    }
  }
  add_up_to(columns, ahead);
  for (; j < columns; j += lanes)
    stream_vector<T, Rows, Terms, true>(
        a, Terms, b + j, shape.b_stride, ahead, sums + j, strip,
        first_lanes(Lanes<T>(), static_cast<std::size_t>(columns - j < lanes ? columns - j : lanes)));
}

/// The update of a row of C with sums that lie in memory; the same arithmetic as a tile's update.
template <class T>
void add_sums(const T* sums, T* c, std::int64_t columns, T alpha, T beta) {
  const Lanes<T> d;
  constexpr std::int64_t lanes = lane_count<T>;
  const auto last = first_lanes(d, static_cast<std::size_t>(columns % lanes));
  std::int64_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    Vector<T> sum[1][1] = {{hn::LoadU(d, sums + j)}};
    update<T, 1, 1, false>(sum, c + j, 0, alpha, beta, last);
  }
  if (j == columns) return;
  Vector<T> sum[1][1] = {{load_first(last, d, sums + j)}};
  update<T, 1, 1, true>(sum, c + j, 0, alpha, beta, last);
}

/// TileShape::last_lanes is the number of columns; k may be any number: chunks are added to C as everywhere.
template <class T, int Rows>
void stream_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta_of_first) {
  constexpr int lanes = lane_count<T>;
  constexpr std::int64_t strip = strip_bytes / static_cast<int>(sizeof(T)) / Rows / lanes * lanes;
  alignas(64) T sums[Rows * strip];
  const std::int64_t all_columns = shape.last_lanes;
  const std::int64_t strips = (all_columns + strip - 1) / strip;
  const std::int64_t width = ((all_columns + strips - 1) / strips + lanes - 1) / lanes * lanes;
  for (std::int64_t j = 0; j < all_columns; j += width) {
    const std::int64_t columns = all_columns - j < width ? all_columns - j : width;
    T beta = beta_of_first;
    for (std::int64_t chunk = 0; chunk < shape.k; chunk += chunk_terms<T>) {
      const std::int64_t end = shape.k - chunk < chunk_terms<T> ? shape.k : chunk + chunk_terms<T>;
      for (int i = 0; i < Rows; ++i)
        for (std::int64_t l = 0; l < width; l += lanes)
          hn::StoreU(hn::Zero(Lanes<T>()), Lanes<T>(), sums + i * strip + l);
      std::int64_t p = chunk;
      for (; p + terms_at_once <= end; p += terms_at_once)
        stream_rows<T, Rows, terms_at_once>(shape, a, b + j, p, columns, sums, strip);
      for (; p < end; ++p) stream_rows<T, Rows, 1>(shape, a, b + j, p, columns, sums, strip);
      for (int i = 0; i < Rows; ++i) add_sums(sums + i * strip, c + i * shape.c_stride + j, columns, alpha, beta);
      beta = T(1);
    }
  }
}

template <class T, int... Height>
auto find_stream(int rows, std::integer_sequence<int, Height...>) {
  static constexpr std::array table{&stream_kernel<T, Height + 1>...};
  return table[static_cast<std::size_t>(rows - 1)];
}

}  // namespace exactile::cpu::HWY_NAMESPACE
