// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a warp fills a stage of its pipeline with columns of B and rows of A, by TMA or element by element.
#pragma once

#include "cuda/isa/cache_hint.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/kernels/sm90/few_rows/parameters.cuh"

namespace exactile::cuda::sm90::few_rows {

union Words {
  uint4 all;
  std::uint32_t word[4];
  static __device__ Words zero() { return {.all = {0, 0, 0, 0}}; }
};

/// Elements first, first + 1, ... < end of a row or column with that stride, as far as they are there.
template <class In>
__device__ inline Words gather(const In* data, std::int64_t stride, int first, int end) {
  constexpr int units = 16 / sizeof(In);
  using Bits = std::conditional_t<sizeof(In) == 2, std::uint16_t, std::uint8_t>;
  union {
    Words words;
    Bits bits[units];
  } out{Words::zero()};
#pragma unroll
  for (int e = 0; e < units; ++e)
    if (first + e < end) out.bits[e] = reinterpret_cast<const Bits*>(data)[(first + e) * stride];
  return out.words;
}

/// A stage of a warp, in rows of 128 bytes, swizzled as TMA does: of K for each column of B and row of A, or, where B
/// is N-major, of 64 columns for each k.
template <class S>
struct alignas(1024) Stage {
  Words b[tile_n][8];
  Words a[S::rows][8];

  [[nodiscard]] static __device__ int swizzled(int mn, int piece) { return piece ^ mn % 8; }
};

/// Where a warp reads.
template <class S>
class Reader {
 public:
  using In = typename S::Element;

  __device__ Reader(const Parameters<In>& p, int product, int first_mn)
      : p_(p), product_(product), first_column_(first_mn) {}

  /// The stage from k on, by a warp; what lies beyond the operands is zero.
  __device__ void fill(Stage<S>& to, int k, std::uint64_t* full) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (S::uses_tma) {
      if (lane != 0) return;
      isa::mbarrier_arrive_expect(full, sizeof(to));
      const int product_of_b = p_.b_is_shared ? 0 : product_;
      isa::tma_load(to.b, &p_.b_map, S::k_major ? k : first_column_, S::k_major ? first_column_ : k, product_of_b, full,
                    isa::evict_first());
      isa::tma_load(to.a, &p_.a_map, k, 0, p_.a_is_shared ? 0 : product_, full);
    } else {
      const In* const b = product_base(p_.b, p_.b_layout, product_);
      const In* const a = product_base(p_.a, p_.a_layout, product_);
      OperandLayout layout = p_.b_layout;
      if constexpr (!S::k_major) {
        layout.row_stride = p_.b_layout.column_stride;
        layout.column_stride = p_.b_layout.row_stride;
      }
      copy(&to.b[0][0], tile_n, b, layout, S::k_major ? first_column_ : k, S::k_major ? p_.out.columns : p_.k,
           S::k_major ? k : first_column_, S::k_major ? p_.k : p_.out.columns);
      copy(&to.a[0][0], S::rows, a, p_.a_layout, 0, p_.out.rows, k, p_.k);
      __syncwarp();
      if (lane == 0) isa::mbarrier_arrive(full);
    }
  }

 private:
  /// Rows of 128 bytes, element by element.
  static __device__ void copy(Words* to, int mn_count, const In* data, const OperandLayout& layout, int first_mn,
                              int end_mn, int first, int end) {
    for (int i = static_cast<int>(threadIdx.x) % 32; i < mn_count * 8; i += 32) {
      const int mn = i / 8, piece = i % 8;
      to[mn * 8 + Stage<S>::swizzled(mn, piece)] =
          first_mn + mn < end_mn
              ? gather(data + (first_mn + mn) * layout.row_stride, layout.column_stride, first + piece * S::units, end)
              : Words::zero();
    }
  }

  const Parameters<In>& p_;
  int product_;
  int first_column_;
};

}  // namespace exactile::cuda::sm90::few_rows
