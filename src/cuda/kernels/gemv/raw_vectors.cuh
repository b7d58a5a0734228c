// SPDX-License-Identifier: Apache-2.0
/// \file
/// The slice of the vectors that a CTA multiplies by tensor cores, in shared memory: 8-bit floats as they are.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/gemv/shape.cuh"

namespace exactile::cuda::gemv_family {

/// Elements of each row from k on, 0 where K has ended or not begun: one chunk is multiplied while the next is on its
/// way. Rows that the product lacks hold anything: a column of a tensor core's sums meets its own row alone.
template <class S>
class RawVectors {
 public:
  /// Lines of W along K may begin within a vector, which meets elements before the chunk.
  static constexpr int before = 16;
  /// The rows, eight of which are read at a time, begin so far apart among the banks.
  static constexpr int row = S::chunk + (S::along_k && !S::is_shifted ? 64 : 32);
  static constexpr int bytes = 2 * S::rows * row;

  __device__ RawVectors(unsigned char* shared, int shift) : shared_(shared), next_(shared + bytes / 2), shift_(shift) {}

  /// Asks for the first chunk of those from k_begin to k_end, for the whole CTA.
  __device__ void begin(const typename S::In* a, const GemmDescription& d, std::int64_t k_begin, std::int64_t k_end) {
    fill(a, d, k_begin, k_end);
  }
  /// Brings the chunk from k on, chunk after chunk.
  __device__ void advance(const typename S::In* a, const GemmDescription& d, std::int64_t k, std::int64_t k_end) {
    isa::copy_async_commit();
    isa::copy_async_wait<0>();
    __syncthreads();  // also: nobody reads the chunk before any longer
    unsigned char* const read = shared_;
    shared_ = next_;
    next_ = read;
    if (k + S::chunk < k_end) fill(a, d, k + S::chunk, k_end);
  }

  /// Those of row r that meet a lane's load, or its lines, from place p of the chunk on: four in a word.
  template <int words>
  __device__ void read(std::uint32_t (&x)[words], int r, int p) const {
    const int at = r * row + before + p - (S::along_k ? shift_ : 0);
    if constexpr (!S::is_shifted) {
      using Vector = std::conditional_t<words == 4, uint4, uint2>;
      const auto from = *reinterpret_cast<const Vector*>(shared_ + at);
      x[0] = from.x;
      x[1] = from.y;
      if constexpr (words == 4) {
        x[2] = from.z;
        x[3] = from.w;
      }
    } else if constexpr (S::along_k) {
      const auto* const word = reinterpret_cast<const std::uint32_t*>(shared_) + at / 4;
#pragma unroll
      for (int w = 0; w < words; ++w) x[w] = __funnelshift_r(word[w], word[w + 1], static_cast<unsigned>(at % 4 * 8));
    } else {
      constexpr int apart = warps * S::groups;
#pragma unroll
      for (int w = 0; w < words; ++w) {
        const auto line = [&](int i) { return std::uint32_t{shared_[at + (4 * w + i) * apart]}; };
        x[w] = line(0) | line(1) << 8 | line(2) << 16 | line(3) << 24;
      }
    }
  }

 private:
  /// The chunk from k on comes to next_.
  __device__ void fill(const typename S::In* a, const GemmDescription& d, std::int64_t k, std::int64_t k_end) {
    const auto chunk = static_cast<int>(min(k_end - k, std::int64_t{S::chunk}));
    const int count = before + (chunk + S::step - 1) / S::step * S::step;
    const std::int64_t apart = d.m > 1 ? d.a.row_stride : 0;
    const auto begins =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(a)) | static_cast<std::uint64_t>(apart);
    if (d.a.column_stride == 1 && begins % 16 == 0)
      copy<16>(a, d, k, count);
    else if (d.a.column_stride == 1 && begins % 4 == 0)
      copy<4>(a, d, k, count);
    else
      copy_elements(a, d, k, count);
  }

  template <int of_copy>
  __device__ void copy(const typename S::In* a, const GemmDescription& d, std::int64_t k, int count) {
    constexpr int threads_of_row = threads / S::rows;
    const int r = static_cast<int>(threadIdx.x) / threads_of_row;
    if (r >= d.m) return;
    const typename S::In* const line = a + r * d.a.row_stride + k - before;
#pragma unroll 1
    for (int p = static_cast<int>(threadIdx.x) % threads_of_row * of_copy; p < count; p += threads_of_row * of_copy) {
      const std::int64_t at = k - before + p;
      const auto valid = at < 0 ? 0 : static_cast<int>(min(max(d.k - at, std::int64_t{0}), std::int64_t{of_copy}));
      isa::copy_async<of_copy>(next_ + r * row + p, valid > 0 ? line + p : a, valid);
    }
  }

  /// Rows are the inner loop: they may lie side by side.
  __device__ void copy_elements(const typename S::In* a, const GemmDescription& d, std::int64_t k, int count) {
#pragma unroll 16 / S::rows
    for (int p = static_cast<int>(threadIdx.x); p < count; p += threads)
#pragma unroll
      for (int r = 0; r < S::rows; ++r) {
        const std::int64_t at = k - before + p;
        const bool is_there = r < d.m && at >= 0 && at < d.k;
        const typename S::In* const from = a + r * d.a.row_stride + at * d.a.column_stride;
        next_[r * row + p] = is_there ? reinterpret_cast<const unsigned char&>(*from) : 0;
      }
  }

  unsigned char* shared_;  ///< what is multiplied
  unsigned char* next_;
  int shift_;  ///< elements before a line of the warp at which its first load begins
};

}  // namespace exactile::cuda::gemv_family
