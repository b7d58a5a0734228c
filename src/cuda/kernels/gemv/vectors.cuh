// SPDX-License-Identifier: Apache-2.0
/// \file
/// The slice of the vectors that a CTA multiplies, in shared memory.
#pragma once

#include <algorithm>

#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/gemv/loaded.cuh"
#include "cuda/kernels/gemv/shape.cuh"

namespace exactile::cuda::gemv_family {

template <class T, int width>
struct alignas(width * sizeof(T)) Vector {
  T at[width];
};

template <class To, class From>
[[nodiscard]] __device__ inline To as(From x) {
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else {
    return widen(x);
  }
}

/// The vectors: elements of each row from k on, 0 where there are none. Those that stay as they are come to one half of
/// the shared memory while the other is multiplied.
template <class S>
class Vectors {
 public:
  using Kept = typename S::Kept;
  /// Where the lines of W along K begin anywhere, what meets a load does so too.
  static constexpr bool begins_anywhere = S::along_k && S::is_shifted;
  /// Elements that a lane reads at a time: where K is contiguous those of a load from W or half of them, else those
  /// that meet its lines of W.
  static constexpr int width =
      begins_anywhere ? S::width
                      : std::min(S::along_k ? S::width : S::lines, std::max(1, 16 / static_cast<int>(sizeof(Kept))));
  using Read = Vector<Kept, width>;
  /// Of a row in shared memory. Where loads begin anywhere: [element][load], the latter twice, one load apart, so that
  /// elements of a load that begins anywhere in another lie so many rows further on, and padded by what keeps the
  /// writes of a warp in banks of their own.
  static constexpr int loads_of_chunk = S::chunk / S::width + 32 / S::width;
  static constexpr int row = begins_anywhere ? 2 * S::width * loads_of_chunk : S::chunk;
  static constexpr bool is_copied = std::is_same_v<typename S::In, Kept> && sizeof(Kept) >= 4 && !begins_anywhere;
  static constexpr int chunks = is_copied ? 2 : 1;  ///< in shared memory
  static constexpr int bytes = chunks * S::rows * row * static_cast<int>(sizeof(Kept));

  /// `shift`: how many elements before a line of the warp its first load begins.
  __device__ Vectors(unsigned char* shared, int shift)
      : shared_(reinterpret_cast<Kept*>(shared)), next_(shared_ + (chunks - 1) * S::rows * row), shift_(shift) {}

  /// Asks for the first chunk of those from k_begin to k_end, for the whole CTA.
  template <class In>
  __device__ void begin(const In* a, const GemmDescription& d, std::int64_t k_begin, std::int64_t k_end) {
    if constexpr (is_copied) fill(a, d, k_begin, k_end);
  }
  /// Brings the chunk from k on, chunk after chunk.
  template <class In>
  __device__ void advance(const In* a, const GemmDescription& d, std::int64_t k, std::int64_t k_end) {
    if constexpr (is_copied) {
      isa::copy_async_commit();
      isa::copy_async_wait<0>();
      __syncthreads();  // also: nobody reads the chunk before any longer
      Kept* const before = shared_;
      shared_ = next_;
      next_ = before;
      if (k + S::chunk < k_end) fill(a, d, k + S::chunk, k_end);
    } else {
      __syncthreads();
      fill(a, d, k, k_end);
      __syncthreads();
    }
  }

  /// Part `part` of what meets the lane's load that begins at `load` for lane 0; or, where N is contiguous, of what
  /// meets lines from `load` on.
  [[nodiscard]] __device__ Read read(int r, int load, int part) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (begins_anywhere) {
      Read x;
#pragma unroll
      for (int e = 0; e < width; ++e)
        x.at[e] = shared_[r * row + (width - shift_ + e) * loads_of_chunk + load / width + lane % S::lanes];
      return x;
    }
    const int at = S::along_k ? (part * S::lanes + lane % S::lanes) * width : part * width;
    return *reinterpret_cast<const Read*>(shared_ + r * row + load + at);
  }

 private:
  /// The chunk from k on comes to next_.
  template <class In>
  __device__ void fill(const In* a, const GemmDescription& d, std::int64_t k, std::int64_t k_end) {
    constexpr int before = begins_anywhere ? S::width : 0;
    const auto count =
        static_cast<int>(min(static_cast<std::int64_t>(S::chunk), k_end - k + S::step - 1)) / S::step * S::step;
    if constexpr (!is_copied && sizeof(In) < 4)
      if (fill_by_vectors(a, d, k, count)) return;

        // Rows are the inner loop: their elements are on their way together.
#pragma unroll 16 / S::rows
    for (int p = static_cast<int>(threadIdx.x) - before; p < count; p += threads)
#pragma unroll
      for (int r = 0; r < S::rows; ++r) {
        const bool is_there = r < d.m && k + p >= 0 && k + p < d.k;
        const In* const from = a + r * d.a.row_stride + (k + p) * d.a.column_stride;
        if constexpr (is_copied) {
          copy(next_ + r * row + place(p), is_there ? from : a, is_there);
          continue;
        }
        keep(r, p, is_there ? as<Kept>(*from) : Kept{});
      }
  }

  /// The same by vectors of A; false if its lines do not begin at multiples of one.
  template <class In>
  __device__ bool fill_by_vectors(const In* a, const GemmDescription& d, std::int64_t k, int count) {
    constexpr int before = begins_anywhere ? S::width : 0;
    constexpr int of_vector = 8 / static_cast<int>(sizeof(In));
    using Elements = Loaded<In, of_vector>;
    const std::int64_t apart = d.m > 1 ? d.a.row_stride * S::size : 0;
    if (d.a.column_stride != 1 || (reinterpret_cast<std::int64_t>(a) | apart) % static_cast<int>(sizeof(Elements)) != 0)
      return false;
    const int of_row = (count + before) / of_vector;
#pragma unroll 2
    for (int i = static_cast<int>(threadIdx.x); i < of_row * S::rows; i += threads) {
      const int r = S::rows == 1 ? 0 : i / of_row, p = (i - r * of_row) * of_vector - before;
      const In* const from = a + r * d.a.row_stride + k + p;
      Elements x{};
      if (r < d.m && k + p >= 0)
        x = k + p + of_vector <= d.k ? *reinterpret_cast<const Elements*>(from)
                                     : Elements::read_from_to(from, 0, d.k - k - p);
      // So many lie side by side.
      constexpr int run = S::is_shifted ? 1 : std::min(width, of_vector);
#pragma unroll
      for (int first = 0; first < of_vector; first += run) {
        Vector<Kept, run> kept;
#pragma unroll
        for (int e = 0; e < run; ++e) kept.at[e] = x.template to<Kept>(first + e);
        if constexpr (run == 1) {
          keep(r, p + first, kept.at[0]);
        } else {
          *reinterpret_cast<Vector<Kept, run>*>(next_ + r * row + place(p + first)) = kept;
        }
      }
    }
    return true;
  }

  /// Element p of row r in the chunk.
  __device__ void keep(int r, int p, Kept x) {
    if constexpr (begins_anywhere) {
      const int e = (p + S::width) % S::width, load = (p + S::width) / S::width;
      Kept* const to = next_ + r * row + e * loads_of_chunk + load;
      to[0] = x;
      if (load > 0) to[S::width * loads_of_chunk - 1] = x;
    } else {
      next_[r * row + place(p)] = x;
    }
  }

  /// Of 16 bytes by halves: no copy has more here.
  template <class T>
  static __device__ void copy(T* to, const T* from, bool is_there) {
    constexpr int bytes = std::min<int>(sizeof(T), 8);
#pragma unroll
    for (int at = 0; at < static_cast<int>(sizeof(T)); at += bytes)
      isa::copy_async<bytes>(reinterpret_cast<char*>(to) + at, reinterpret_cast<const char*>(from) + at,
                             is_there ? bytes : 0);
  }

  /// What lanes, or those of a warp one after another, read at the same time lies side by side.
  static __device__ int place(int p) {
    if constexpr (!S::along_k) {
      if constexpr (!S::is_shifted) return p;
      constexpr int apart = warps * S::groups;
      return p - p % S::step + p % apart * S::lines + p % S::step / apart;
    } else if constexpr (S::width == width) {
      return p;
    }
    constexpr int group = S::lanes * S::width;
    const int in_group = p % group, lane = in_group / S::width, e = in_group % S::width;
    return p - in_group + (e / width * S::lanes + lane) * width + e % width;
  }

  Kept* shared_;  ///< what is multiplied
  Kept* next_;    ///< the same where there is one chunk
  int shift_;
};

}  // namespace exactile::cuda::gemv_family
