// SPDX-License-Identifier: Apache-2.0
/// \file
/// A stage of shared memory: 16 of K of a tile's rows of A and columns of B, as 16-byte chunks of two doubles.
///
/// A: [rows / 16][16 k][8 chunks of two rows], B: [columns][8 chunks of two k]. Both have rows of 128 bytes, and the
/// chunk's place in its row is exclusive-ored with the row's number modulo 8 (what TMA calls a 128-byte swizzle), so
/// that copies in and fragments out meet no bank conflict.
#pragma once

#include <cstdint>

#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/dmma/parameters.cuh"

namespace exactile::cuda::dmma {

enum class Side : std::uint8_t { a, b };

inline constexpr int line_bytes = 128;
inline constexpr int bytes_of_16 = 16 * line_bytes;  ///< of 16 rows of A or 16 columns of B

template <Side S>
[[nodiscard]] __device__ constexpr std::uint32_t stage_offset(std::uint32_t mn, std::uint32_t k) {
  const std::uint32_t line = S == Side::a ? k : mn % 16;
  const std::uint32_t place = S == Side::a ? mn % 16 : k;
  return mn / 16 * bytes_of_16 + line * line_bytes + ((place / 2 ^ line % 8) << 4) + place % 2 * 8;
}

/// One of 128 threads that together fill one side of a stage, again and again along K. Its first element is (mn, k) of
/// the stage; every further one is 8 or 16 rows or columns, or 8 k, away.
template <Side S, int Extent>
class Filler {
 public:
  __device__ Filler(const Source& source, int thread) : source_(source) {
    switch (source.path) {
      case Source::Path::elements_k_major: mn_ = thread / 16, k_ = thread % 16; break;
      case Source::Path::elements_mn_major: mn_ = thread % 16, k_ = thread / 16; break;
      case Source::Path::pairs:
        mn_ = S == Side::a ? thread % 8 * 2 : thread / 8;
        k_ = S == Side::a ? thread / 8 : thread % 8 * 2;
        break;
    }
    offset_ = stage_offset<S>(mn_, k_);
  }

  /// Starts at row or column `first` of `extent`, k of `k_count`.
  __device__ void start(std::int64_t product, std::int64_t first, std::int64_t extent, std::int64_t k,
                        std::int64_t k_count) {
    place_ = source_.product(product) + (first + mn_) * source_.mn + (k + k_) * source_.k_stride;
    mn_left_ = static_cast<int>(min(extent - first, static_cast<std::int64_t>(Extent))) - mn_;
    k_left_ = k_count - k - k_;
  }

  /// Begins the copies of one stage and moves on to the next 16 of K.
  __device__ void fill(char* stage) {
    switch (source_.path) {
      case Source::Path::elements_k_major: fill_k_major(stage + offset_); break;
      case Source::Path::elements_mn_major: fill_mn_major(stage + offset_); break;
      case Source::Path::pairs: fill_pairs(stage + offset_); break;
    }
    place_ += block_k * source_.k_stride;
    k_left_ -= block_k;
  }

 private:
  /// The place 4 chunks away within a row, if stages are aligned to rows.
  [[nodiscard]] __device__ static char* flip_chunk(char* place) {
    return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(place) ^ 64);
  }
  __device__ void fill_k_major(char* to) const {
    const double* from = place_;
    const int mn_left = k_left_ > 0 ? mn_left_ : 0;
#pragma unroll 8
    for (int i = 0; i < Extent; i += 8, from += 8 * source_.mn) {
      // 8 rows of A further are 4 chunks, 8 columns of B are 8 rows of memory.
      char* place = i % 16 == 0 ? to : S == Side::a ? flip_chunk(to) : to + 8 * line_bytes;
      isa::copy_async<8>(place + i / 16 * bytes_of_16, from, i < mn_left ? 8 : 0);
    }
  }
  __device__ void fill_mn_major(char* to) const {
    const double* from = place_;
    char* const next = S == Side::a ? to + 8 * line_bytes : flip_chunk(to);
#pragma unroll 4
    for (int i = 0; i < Extent; i += 16, from += 16 * source_.mn) {
      isa::copy_async<8>(to + i * line_bytes, from, i < mn_left_ && k_left_ > 0 ? 8 : 0);
      isa::copy_async<8>(next + i * line_bytes, from + 8 * source_.k_stride, i < mn_left_ && k_left_ > 8 ? 8 : 0);
    }
  }
  __device__ void fill_pairs(char* to) const {
    const double* from = place_;
#pragma unroll 4
    for (int i = 0; i < Extent; i += 16, from += 16 * source_.mn) {
      const int mn_left = mn_left_ - i;
      const std::int64_t pair = S == Side::a ? static_cast<std::int64_t>(mn_left) : k_left_;
      const bool any = S == Side::a ? k_left_ > 0 : mn_left > 0;
      isa::copy_async<16>(to + i * line_bytes, from, any ? (pair > 1 ? 16 : pair == 1 ? 8 : 0) : 0);
    }
  }

  const Source& source_;
  const double* place_ = nullptr;
  std::int64_t k_left_ = 0;  ///< counted from this thread's first element, like mn_left_
  int mn_left_ = 0;
  int mn_;
  int k_;
  std::uint32_t offset_;
};

}  // namespace exactile::cuda::dmma
