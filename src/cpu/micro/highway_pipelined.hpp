// SPDX-License-Identifier: Apache-2.0
/// \file
/// The multiply-adds of a tile of 8 rows and three AVX-512 vectors, in an order of their own: rows of B are read two
/// terms ahead of their use and asked for a round ahead, elements of A are read two rows ahead. Where a core's other
/// thread is busy, half of its scheduler is left, and fills with multiply-adds that wait for reads. Written out,
/// because the compiler moves reads to their uses. Multiply-adds that read elements by themselves would spare
/// instructions, but are too many reads beside the lines that come from L2.
#pragma once

#include <cstddef>

#include "cpu/micro/highway_vector.hpp"
#include "cpu/micro/tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

inline constexpr int pipelined_rows = 8;
inline constexpr int pipelined_vectors = 3;
/// Terms of a round: the loop's body.
inline constexpr int pipelined_terms = 8;

/// How many rounds, and what they ask for.
struct PipelinedRounds {
  std::int64_t of_lines;  ///< rounds that ask for two rows of lines each
  std::int64_t of_a;      ///< rounds that ask for the next tile of A
  const void* lines;      ///< as in Ahead; strides in bytes
  std::int64_t line_stride;
  const void* a;
  std::int64_t a_stride;
  std::int64_t a_rows;
  std::int64_t lines_first;
  std::int64_t half_round;  ///< of what a round's terms take of a row of A, in bytes
};
static_assert(offsetof(PipelinedRounds, of_a) == 8 && offsetof(PipelinedRounds, lines) == 16 &&
              offsetof(PipelinedRounds, line_stride) == 24 && offsetof(PipelinedRounds, a) == 32 &&
              offsetof(PipelinedRounds, a_stride) == 40 && offsetof(PipelinedRounds, a_rows) == 48 &&
              offsetof(PipelinedRounds, lines_first) == 56 && offsetof(PipelinedRounds, half_round) == 64);

#if HWY_ARCH_X86
// Sums are operands of the assembly, B is in zmm0 to zmm5, elements of A in zmm6 and zmm7. Of a row R its three
// multiply-adds, then the element two rows on into the register that they leave:
#define EXACTILE_ROW(FMA, REPEAT, SIZE, P, R, E, B0, B1, B2, S0, S1, S2, ASK)                                  \
#FMA " %%" #B0 ", %%" #E ", %[s" #S0 "]\n\t" ASK #FMA " %%" #B1 ", %%" #E ", %[s" #S1 "]\n\t" #FMA " %%" #B2 \
       ", %%" #E ", %[s" #S2 "]\n\t" #REPEAT " " #SIZE "*8*" #P "+" #SIZE "*" #R "+" #SIZE "*2(%[a]), %%" #E "\n\t"
// A term, then the row of B two terms on. Asks for the line of A's tile half a KiB on, and for the row of B a round on.
#define EXACTILE_TERM(FMA, REPEAT, SIZE, P, B0, B1, B2, ASK3, ASK5)                                               \
  EXACTILE_ROW(FMA, REPEAT, SIZE, P, 0, zmm6, B0, B1, B2, 0, 1, 2, "prefetcht0 " #SIZE "*8*" #P "+512(%[a])\n\t") \
  EXACTILE_ROW(FMA, REPEAT, SIZE, P, 1, zmm7, B0, B1, B2, 3, 4, 5, "")                                            \
  EXACTILE_ROW(FMA, REPEAT, SIZE, P, 2, zmm6, B0, B1, B2, 6, 7, 8, "prefetcht0 192*" #P "+1536(%[b])\n\t")        \
  EXACTILE_ROW(FMA, REPEAT, SIZE, P, 3, zmm7, B0, B1, B2, 9, 10, 11, ASK3)                                        \
  EXACTILE_ROW(FMA, REPEAT, SIZE, P, 4, zmm6, B0, B1, B2, 12, 13, 14, "prefetcht0 192*" #P "+1600(%[b])\n\t")     \
  EXACTILE_ROW(FMA, REPEAT, SIZE, P, 5, zmm7, B0, B1, B2, 15, 16, 17, ASK5)                                       \
  EXACTILE_ROW(FMA, REPEAT, SIZE, P, 6, zmm6, B0, B1, B2, 18, 19, 20, "prefetcht0 192*" #P "+1664(%[b])\n\t")     \
  EXACTILE_ROW(FMA, REPEAT, SIZE, P, 7, zmm7, B0, B1, B2, 21, 22, 23, "")                                         \
  "vmovups 192*" #P "+384(%[b]), %%" #B0                                                                          \
  "\n\t"                                                                                                          \
  "vmovups 192*" #P "+448(%[b]), %%" #B1                                                                          \
  "\n\t"                                                                                                          \
  "vmovups 192*" #P "+512(%[b]), %%" #B2 "\n\t"
#define EXACTILE_EVEN(FMA, REPEAT, SIZE, P, ASK3, ASK5) \
  EXACTILE_TERM(FMA, REPEAT, SIZE, P, zmm0, zmm1, zmm2, ASK3, ASK5)
#define EXACTILE_ODD(FMA, REPEAT, SIZE, P, ASK3, ASK5) EXACTILE_TERM(FMA, REPEAT, SIZE, P, zmm3, zmm4, zmm5, ASK3, ASK5)
#define EXACTILE_FOUR_TERMS(FMA, REPEAT, SIZE, P0, P1, P2, P3, ASK0, ASK1, ASK2, ASK3) \
  EXACTILE_EVEN(FMA, REPEAT, SIZE, P0, ASK0, ASK1)                                     \
  EXACTILE_ODD(FMA, REPEAT, SIZE, P1, ASK2, ASK3)                                      \
  EXACTILE_EVEN(FMA, REPEAT, SIZE, P2, "", "")                                         \
  EXACTILE_ODD(FMA, REPEAT, SIZE, P3, "", "")
#define EXACTILE_ROUND(FMA, REPEAT, SIZE, ASK0, ASK1, ASK2, ASK3)            \
  EXACTILE_FOUR_TERMS(FMA, REPEAT, SIZE, 0, 1, 2, 3, ASK0, ASK1, ASK2, ASK3) \
  EXACTILE_FOUR_TERMS(FMA, REPEAT, SIZE, 4, 5, 6, 7, ASK0, ASK1, ASK2, ASK3) \
  "add $" #SIZE                                                              \
  "*64, %[a]\n\t"                                                            \
  "add $1536, %[b]\n\t"
// rax and rcx: rounds left; r8, r9: lines and from one to the next; r10, r11: the same of A; rdx, rsi: of one request.
#define EXACTILE_ROUNDS(FMA, REPEAT, SIZE) \
  EXACTILE_ZERO(0) EXACTILE_ZERO(1) EXACTILE_ZERO(2) EXACTILE_ZERO(3) EXACTILE_ZERO(4) EXACTILE_ZERO(5)          \
  EXACTILE_ZERO(6) EXACTILE_ZERO(7) EXACTILE_ZERO(8) EXACTILE_ZERO(9) EXACTILE_ZERO(10) EXACTILE_ZERO(11)        \
  EXACTILE_ZERO(12) EXACTILE_ZERO(13) EXACTILE_ZERO(14) EXACTILE_ZERO(15) EXACTILE_ZERO(16) EXACTILE_ZERO(17)    \
  EXACTILE_ZERO(18) EXACTILE_ZERO(19) EXACTILE_ZERO(20) EXACTILE_ZERO(21) EXACTILE_ZERO(22) EXACTILE_ZERO(23)    \
  "vmovups (%[b]), %%zmm0\n\t"                                                                                   \
  "vmovups 64(%[b]), %%zmm1\n\t"                                                                                 \
  "vmovups 128(%[b]), %%zmm2\n\t"                                                                                \
  "vmovups 192(%[b]), %%zmm3\n\t"                                                                                \
  "vmovups 256(%[b]), %%zmm4\n\t"                                                                                \
  "vmovups 320(%[b]), %%zmm5\n\t"                                                                                \
  #REPEAT " (%[a]), %%zmm6\n\t"                                                                                  \
  #REPEAT " " #SIZE "(%[a]), %%zmm7\n\t"                                                                         \
  "mov (%[rounds]), %%rax\n\t"                                                                                   \
  "mov 8(%[rounds]), %%rcx\n\t"                                                                                  \
  "mov 16(%[rounds]), %%r8\n\t"                                                                                  \
  "mov 24(%[rounds]), %%r9\n\t"                                                                                  \
  "mov 32(%[rounds]), %%r10\n\t"                                                                                 \
  "mov 40(%[rounds]), %%r11\n\t"                                                                                 \
  "mov 64(%[rounds]), %%rdi\n\t"                                                                                 \
  "cmpq $0, 56(%[rounds])\n\t"                                                                                   \
  "je 2f\n"                                                                                                      \
  "7:\n\t"                                                                                                       \
  "test %%rax, %%rax\n\t"                                                                                        \
  "jle 2f\n\t"                                                                                                   \
  ".p2align 5\n"                                                                                                 \
  "1:\n\t"                                                                                                       \
  EXACTILE_ROUND(FMA, REPEAT, SIZE, "prefetchw (%%r8)\n\t", "prefetchw 64(%%r8)\n\t", "prefetchw 128(%%r8)\n\t", \
                 "prefetchw 191(%%r8)\n\tadd %%r9, %%r8\n\t")                                                    \
  "dec %%rax\n\t"                                                                                                \
  "jnz 1b\n"                                                                                                     \
  "2:\n\t"                                                                                                       \
  "test %%rcx, %%rcx\n\t"                                                                                        \
  "jle 6f\n\t"                                                                                                   \
  ".p2align 5\n"                                                                                                 \
  "3:\n\t"                                                                                                       \
  "mov 48(%[rounds]), %%rdx\n\t"                                                                                 \
  "mov %%r10, %%rsi\n\t"                                                                                         \
  "test %%rdx, %%rdx\n\t"                                                                                        \
  "jle 5f\n"                                                                                                     \
  "4:\n\t"                                                                                                       \
  "prefetcht0 (%%rsi)\n\t"                                                                                       \
  "prefetcht0 (%%rsi,%%rdi)\n\t"                                                                                \
  "add %%r11, %%rsi\n\t"                                                                                         \
  "dec %%rdx\n\t"                                                                                                \
  "jnz 4b\n"                                                                                                     \
  "5:\n\t"                                                                                                       \
  "lea (%%r10,%%rdi,2), %%r10\n\t"                                                                              \
  EXACTILE_ROUND(FMA, REPEAT, SIZE, "", "", "", "")                                                              \
  "dec %%rcx\n\t"                                                                                                \
  "jnz 3b\n"                                                                                                     \
  "6:\n\t"                                                                                                       \
  "test %%rax, %%rax\n\t"                                                                                        \
  "jg 7b\n\t"
#define EXACTILE_ZERO(S) "vpxord %[s" #S "], %[s" #S "], %[s" #S "]\n\t"
#define EXACTILE_SUM(S) [s##S] "=&v"(sums[S / 3][S % 3].raw)
#define EXACTILE_PIPELINE(FMA, REPEAT, SIZE)                                                                           \
  asm volatile(EXACTILE_ROUNDS(FMA, REPEAT, SIZE)                                                                      \
               : EXACTILE_SUM(0), EXACTILE_SUM(1), EXACTILE_SUM(2), EXACTILE_SUM(3), EXACTILE_SUM(4), EXACTILE_SUM(5), \
                 EXACTILE_SUM(6), EXACTILE_SUM(7), EXACTILE_SUM(8), EXACTILE_SUM(9), EXACTILE_SUM(10),                 \
                 EXACTILE_SUM(11), EXACTILE_SUM(12), EXACTILE_SUM(13), EXACTILE_SUM(14), EXACTILE_SUM(15),             \
                 EXACTILE_SUM(16), EXACTILE_SUM(17), EXACTILE_SUM(18), EXACTILE_SUM(19), EXACTILE_SUM(20),             \
                 EXACTILE_SUM(21), EXACTILE_SUM(22), EXACTILE_SUM(23), [a] "+&r"(a), [b] "+&r"(b)                      \
               : [rounds] "r"(&rounds)                                                                                 \
               : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2",  \
                 "xmm3", "xmm4", "xmm5", "xmm6", "xmm7")

/// sums <- the first terms of the tile, by rounds; a and b move on. Reads up to two terms further.
HWY_INLINE void multiply_rounds(Vector<float> (&sums)[8][3], const float*& a, const float*& b,
                                const PipelinedRounds& rounds) {
  EXACTILE_PIPELINE(vfmadd231ps, vbroadcastss, 4);
}
HWY_INLINE void multiply_rounds(Vector<double> (&sums)[8][3], const double*& a, const double*& b,
                                const PipelinedRounds& rounds) {
  EXACTILE_PIPELINE(vfmadd231pd, vbroadcastsd, 8);
}

#undef EXACTILE_ROW
#undef EXACTILE_TERM
#undef EXACTILE_EVEN
#undef EXACTILE_ODD
#undef EXACTILE_FOUR_TERMS
#undef EXACTILE_ROUND
#undef EXACTILE_ROUNDS
#undef EXACTILE_ZERO
#undef EXACTILE_SUM
#undef EXACTILE_PIPELINE
#endif

/// Whether A and B are packed for exactly such tiles, and have terms enough.
template <class T>
HWY_INLINE bool suits_pipeline(const TileShape& shape) {
  return shape.a_stride == pipelined_rows && shape.b_stride == pipelined_vectors * lane_count<T> &&
         shape.k >= 2 * pipelined_terms;
}

/// The sums of k terms, as an asking kernel forms them; see suits_pipeline(). A's elements have `Parts` numbers.
template <int Parts, class T>
HWY_INLINE void pipelined_sums(Vector<T> (&sums)[pipelined_rows][pipelined_vectors], std::int64_t k, const T* a,
                               const T* b, const Ahead<T>& ahead) {
  const Lanes<T> d;
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  // What the last round would read ahead may not be there: its terms, and those that fill no round, come after.
  const std::int64_t rounds = k / pipelined_terms - 1;
  const std::int64_t of_lines = ahead.line_rows / 2 < rounds ? ahead.line_rows / 2 : rounds;
  multiply_rounds(sums, a, b,
                  {of_lines, rounds - of_lines, ahead.lines, ahead.line_stride * size, ahead.a, ahead.a_stride,
                   ahead.a_rows, ahead.lines_are_far, pipelined_terms / 2 * Parts * size});
  for (k -= rounds * pipelined_terms; k > 0; --k) {
    Vector<T> b_row[pipelined_vectors];
#pragma GCC unroll 4
    for (int v = 0; v < pipelined_vectors; ++v) b_row[v] = hn::LoadU(d, b + v * lane_count<T>);
#pragma GCC unroll 8
    for (int i = 0; i < pipelined_rows; ++i) {
      const auto element = hn::Set(d, a[i]);
#pragma GCC unroll 4
      for (int v = 0; v < pipelined_vectors; ++v) multiply_add_into(sums[i][v], element, b_row[v]);
    }
    a += pipelined_rows;
    b += pipelined_vectors * lane_count<T>;
  }
}

}  // namespace exactile::cpu::HWY_NAMESPACE
