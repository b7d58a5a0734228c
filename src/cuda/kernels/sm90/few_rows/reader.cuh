// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a warp fills a stage of its ring with lines and rows, by TMA or element by element.
#pragma once

#include "cuda/isa/read_once.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/kernels/sm90/few_rows/work.cuh"

namespace exactile::cuda::sm90::few_rows {

union Words {
  uint4 all;
  std::uint32_t word[4];
  static __device__ Words zero() { return {.all = {0, 0, 0, 0}}; }
};

/// Elements first, first + 1, ... < end of a line with that stride, as far as they are there.
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

/// A stage of a warp, in lines of 128 bytes, swizzled as TMA does: of K for each line and row, or, where the lines are
/// contiguous, of 64 lines for each k.
template <class S>
struct alignas(1024) Stage {
  Words lines[tile_lines][8];
  Words rows[S::rows][8];

  [[nodiscard]] static __device__ int swizzled(int line, int piece) { return piece ^ line % 8; }
};

/// Where a warp reads.
template <class S>
class Reader {
 public:
  using In = typename S::Element;

  __device__ Reader(const Work<In>& work, int product, int first_line)
      : work_(work), product_(product), first_line_(first_line) {}

  /// The stage from k on, by a warp; what lies beyond the operands is zero.
  __device__ void fill(Stage<S>& to, int k, std::uint64_t* full) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (S::uses_tma) {
      if (lane != 0) return;
      isa::mbarrier_arrive_expect(full, sizeof(to));
      const int product_of_lines = work_.lines_are_shared ? 0 : product_;
      isa::tma_load(to.lines, &work_.lines_map, S::along_k ? k : first_line_, S::along_k ? first_line_ : k,
                    product_of_lines, full, isa::evict_first());
      isa::tma_load(to.rows, &work_.rows_map, k, 0, work_.rows_are_shared ? 0 : product_, full);
    } else {
      const In* const lines = product_base(work_.lines, work_.lines_layout, product_);
      const In* const rows = product_base(work_.rows, work_.rows_layout, product_);
      OperandLayout layout = work_.lines_layout;
      if constexpr (!S::along_k) {
        layout.row_stride = work_.lines_layout.column_stride;
        layout.column_stride = work_.lines_layout.row_stride;
      }
      copy(&to.lines[0][0], tile_lines, lines, layout, S::along_k ? first_line_ : k,
           S::along_k ? work_.out.columns : work_.k, S::along_k ? k : first_line_,
           S::along_k ? work_.k : work_.out.columns);
      copy(&to.rows[0][0], S::rows, rows, work_.rows_layout, 0, work_.out.rows, k, work_.k);
      __syncwarp();
      if (lane == 0) isa::mbarrier_arrive(full);
    }
  }

 private:
  /// Lines of 128 bytes, element by element.
  static __device__ void copy(Words* to, int lines, const In* data, const OperandLayout& layout, int first_line,
                              int end_line, int first, int end) {
    for (int i = static_cast<int>(threadIdx.x) % 32; i < lines * 8; i += 32) {
      const int line = i / 8, piece = i % 8;
      to[line * 8 + Stage<S>::swizzled(line, piece)] = first_line + line < end_line
                                                           ? gather(data + (first_line + line) * layout.row_stride,
                                                                    layout.column_stride, first + piece * S::units, end)
                                                           : Words::zero();
    }
  }

  const Work<In>& work_;
  int product_;
  int first_line_;
};

}  // namespace exactile::cuda::sm90::few_rows
