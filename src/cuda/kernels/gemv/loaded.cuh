// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements as a lane loads them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "cuda/tile/types.cuh"

namespace exactile::cuda::gemv_family {

/// Two 8-bit floats as f16.
template <class T>
[[nodiscard]] __device__ inline __half2_raw halves(std::uint32_t pair) {
  return __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair),
                                    std::is_same_v<T, __nv_fp8_e4m3> ? __NV_E4M3 : __NV_E5M2);
}

/// What a lane loads at a time. Narrow elements are kept as words: by themselves they take a register each.
template <class T, int width>
struct alignas(width * sizeof(T)) Loaded {
  static constexpr int of_word = width * sizeof(T) >= 4 ? 4 / std::min<int>(sizeof(T), 4) : 1;  ///< elements
  using Word = std::conditional_t<(of_word > 1), std::uint32_t, T>;
  static constexpr int bits = of_word > 1 ? 8 * static_cast<int>(sizeof(T)) : 0;
  Word word[width / of_word];

  [[nodiscard]] __device__ T at(int e) const {
    if constexpr (of_word == 1) {
      return word[e];
    } else {
      using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
      return std::bit_cast<T>(static_cast<Bits>(word[e / of_word] >> (e % of_word * bits)));
    }
  }
  /// Element e as it is or in the type that sums. Of 8-bit floats two are converted at a time.
  template <class To>
  [[nodiscard]] __device__ To to(int e) const {
    if constexpr (std::is_same_v<To, T>) {
      return at(e);
    } else if constexpr (is_f8_v<T> && of_word == 4) {
      const __half2 both = halves<T>(word[e / 4] >> (e % 4 / 2 * 16));
      return __half2float(e % 2 == 0 ? both.x : both.y);
    } else {
      return widen(at(e));
    }
  }
  /// Leaves those from `first` to before `end`; the others become 0.
  __device__ void keep_from_to(std::int64_t first, std::int64_t end) {
#pragma unroll
    for (int w = 0; w < width / of_word; ++w) {
      const auto clamped = [&](std::int64_t e) {
        return static_cast<int>(min(max(e - w * of_word, std::int64_t{0}), std::int64_t{of_word}));
      };
      if constexpr (of_word == 1) {
        if (clamped(first) > 0 || clamped(end) == 0) word[w] = T{};
      } else {
        const auto below = [&](int e) { return e == of_word ? ~0U : (1U << (e * bits)) - 1; };
        word[w] &= below(clamped(end)) & ~below(clamped(first));
      }
    }
  }
  /// Puts one before all others, of which the last is lost.
  __device__ void put_before(T x) {
#pragma unroll
    for (int w = width / of_word - 1; w > 0; --w) {
      if constexpr (of_word == 1)
        word[w] = word[w - 1];
      else
        word[w] = __funnelshift_l(word[w - 1], word[w], bits);
    }
    if constexpr (of_word == 1) {
      word[0] = x;
    } else {
      using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
      word[0] = word[0] << bits | std::uint32_t{std::bit_cast<Bits>(x)};
    }
  }
  /// Elements from `first` to before `end` of those at `from`, the others 0. Seldom, hence not unrolled: code that no
  /// cache of instructions holds costs more than it does.
  [[nodiscard]] static __device__ Loaded read_from_to(const T* from, std::int64_t first, std::int64_t end) {
    Loaded x{};
#pragma unroll 1
    for (int e = width - 1; e >= 0; --e) x.put_before(e >= first && e < end ? from[e] : T{});
    return x;
  }
};

}  // namespace exactile::cuda::gemv_family
