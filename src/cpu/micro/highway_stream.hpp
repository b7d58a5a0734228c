// SPDX-License-Identifier: Apache-2.0
/// \file
/// Few rows of A against a B that is read once from memory.
///
/// B is walked along its rows, eight rows at a time, so that memory sees eight long sequential streams; the sums live
/// in a strip of L1 and are loaded and stored once per eight terms. Order of summation: as Tile says.
#pragma once

#include "cpu/micro/highway_tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

inline constexpr int terms_at_once = 8;

/// Adds `Terms` terms to one vector of sums per row.
template <class T, int Rows, int Terms, bool Masked>
HWY_INLINE void stream_vector(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* sums,
                              std::int64_t strip, hn::Mask<Lanes<T>> mask) {
  const Lanes<T> d;
  Vector<T> sum[Rows];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) sum[i] = hn::LoadU(d, sums + i * strip);
#pragma GCC unroll 8
  for (int p = 0; p < Terms; ++p) {
    const Vector<T> b_row = load<T, 1, Masked>(b + p * b_stride, 0, mask);
    // The same columns of the rows that follow: they lie pages away, where no hardware prefetcher looks.
    if (Terms == terms_at_once) __builtin_prefetch(b + (p + Terms) * b_stride);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) multiply_add_into(sum[i], hn::Set(d, a[i * a_stride + p]), b_row);
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) hn::StoreU(sum[i], d, sums + i * strip);
}

template <class T, int Rows, int Terms>
HWY_INLINE void stream_rows(const Tile<T>& t, std::int64_t p, std::int64_t columns, T* sums, std::int64_t strip) {
  constexpr int lanes = lane_count<T>;
  // A's few elements are copied side by side first: their addresses are then constants of the loop below.
  T a[Rows * Terms];
  for (int i = 0; i < Rows; ++i)
    for (int q = 0; q < Terms; ++q) a[i * Terms + q] = t.a[i * t.a_stride + p + q];
  const T* b = t.b + p * t.b_stride;
  const auto all = hn::FirstN(Lanes<T>(), static_cast<std::size_t>(lanes));
  std::int64_t j = 0;
  for (; j + lanes <= columns; j += lanes)
    stream_vector<T, Rows, Terms, false>(a, Terms, b + j, t.b_stride, sums + j, strip, all);
  if (j < columns)
    stream_vector<T, Rows, Terms, true>(a, Terms, b + j, t.b_stride, sums + j, strip,
                                        hn::FirstN(Lanes<T>(), static_cast<std::size_t>(columns - j)));
}

/// The update of a row of C with sums that lie in memory; the same arithmetic as a tile's update.
template <class T>
void add_sums(const T* sums, T* c, std::int64_t columns, T alpha, T beta) {
  const Lanes<T> d;
  constexpr std::int64_t lanes = lane_count<T>;
  for (std::int64_t j = 0; j < columns; j += lanes) {
    const std::int64_t left = columns - j < lanes ? columns - j : lanes;
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(left));
    Vector<T> sum[1][1] = {{hn::MaskedLoad(mask, d, sums + j)}};
    update<T, 1, 1, true>(sum, Tile<T>{nullptr, 0, nullptr, 0, c + j, 0, 0, left, alpha, beta}, mask);
  }
}

/// Tile::last_lanes is the number of columns; Tile::k may be any number: chunks are added to C as everywhere.
template <class T, int Rows>
void stream_kernel(const Tile<T>& t) {
  constexpr int lanes = lane_count<T>;
  constexpr std::int64_t strip = (16384 / static_cast<int>(sizeof(T)) / Rows) / lanes * lanes;
  alignas(64) T sums[Rows * strip];
  for (std::int64_t j = 0; j < t.last_lanes; j += strip) {
    const std::int64_t columns = t.last_lanes - j < strip ? t.last_lanes - j : strip;
    Tile<T> part = t;
    part.b = t.b + j;
    T beta = t.beta;
    for (std::int64_t chunk = 0; chunk < t.k; chunk += chunk_terms<T>) {
      const std::int64_t end = t.k - chunk < chunk_terms<T> ? t.k : chunk + chunk_terms<T>;
      for (T& sum : sums) sum = T(0);
      std::int64_t p = chunk;
      for (; p + terms_at_once <= end; p += terms_at_once)
        stream_rows<T, Rows, terms_at_once>(part, p, columns, sums, strip);
      for (; p < end; ++p) stream_rows<T, Rows, 1>(part, p, columns, sums, strip);
      for (int i = 0; i < Rows; ++i) add_sums(sums + i * strip, t.c + i * t.c_stride + j, columns, t.alpha, beta);
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
