// SPDX-License-Identifier: Apache-2.0
// cblas_gemm_s8u8s32, as MKL has it: C <- alpha (op(A) + ao) (op(B) + bo) + beta C + co with bytes and 32-bit sums.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "blas/arguments.hpp"
#include "blas/export.hpp"
#include "blas/scratch.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

/// Sums wrap around modulo 2^32, as the product's do.
using Sum = std::uint32_t;

enum class Offset : std::uint8_t { one, of_row, of_column };

/// CBLAS's numbers: CblasRowOffset is a row of n offsets, CblasColOffset a column of m.
[[nodiscard]] constexpr std::optional<Offset> offset_of(int number) noexcept {
  switch (number) {
    case 171: return Offset::of_column;
    case 172: return Offset::of_row;
    case 173: return Offset::one;
    default: return std::nullopt;
  }
}

template <class Byte>
struct Bytes {
  Op op;
  const Byte* data;
  Size ld;
  int offset;
  [[nodiscard]] const Byte* at(Size row, Size column) const noexcept {
    return is_transposed(op) ? data + column + row * ld : data + row + column * ld;
  }
};

/// By columns.
struct Problem {
  Size m;
  Size n;
  Size k;
  float alpha;
  Bytes<std::int8_t> a;
  Bytes<std::uint8_t> b;
  float beta;
  std::int32_t* c;
  Size ldc;
  Offset kind;
  const std::int32_t* offsets;
};

/// What to add to sums of the bytes alone where both factors are moved: (a + x)(b + y) = ab + ay + xb + xy.
struct Corrections {
  std::unique_ptr<Sum[]> of_rows;
  std::unique_ptr<Sum[]> of_columns;
};

[[nodiscard]] Sum wrapped(Size value) noexcept { return static_cast<Sum>(value); }

[[nodiscard]] Corrections corrections_of(const Problem& p) {
  Corrections sums{allocated<Sum>(p.m), allocated<Sum>(p.n)};
  Sum* const rows = sums.of_rows.get();
  Sum* const columns = sums.of_columns.get();
  std::fill(rows, rows + p.m, wrapped(p.k * p.a.offset * p.b.offset));
  std::fill(columns, columns + p.n, Sum{0});
  constexpr Size few = 64;  // rows whose lines stay in L1, whichever way A lies
  for (Size first = 0; first < p.m && p.b.offset != 0; first += few)
    for (Size l = 0; l < p.k; ++l)
      for (Size i = first; i < std::min(p.m, first + few); ++i) rows[i] += wrapped(*p.a.at(i, l) * p.b.offset);
  if (p.a.offset != 0)
    for (Size j = 0; j < p.n; ++j)
      for (Size l = 0; l < p.k; ++l) columns[j] += wrapped(*p.b.at(l, j) * p.a.offset);
  return sums;
}

/// To the nearest, ties to even, and to the ends of the range beyond them; NaN to 0.
[[nodiscard]] std::int32_t rounded(double value) noexcept {
  using Limits = std::numeric_limits<std::int32_t>;
  if (std::isnan(value)) return 0;
  return static_cast<std::int32_t>(std::clamp(std::nearbyint(value), double{Limits::min()}, double{Limits::max()}));
}

/// Columns of C from their sums.
void finish(const Problem& p, const Corrections& corrections, Size first, Size count, const std::int32_t* sums) {
  for (Size j = first; j < first + count; ++j) {
    std::int32_t* column = p.c + j * p.ldc;
    for (Size i = 0; i < p.m; ++i) {
      const Sum moved = static_cast<Sum>(sums[i + (j - first) * p.m]) + corrections.of_rows.get()[i] +
                        corrections.of_columns.get()[j];
      double value = double{p.alpha} * static_cast<std::int32_t>(moved);
      if (p.beta != 0) value += double{p.beta} * column[i];
      const Size offset = p.kind == Offset::one ? 0 : p.kind == Offset::of_row ? i : j;
      column[i] = rounded(value + p.offsets[offset]);
    }
  }
}

void run(const Problem& p) {
  constexpr Size width = 512;  // columns whose sums are kept at a time
  const Corrections corrections = corrections_of(p);
  const auto sums = allocated<std::int32_t>(p.m * std::min(width, p.n));
  for (Size first = 0; first < p.n; first += width) {
    const Size count = std::min(width, p.n - first);
    multiply(p.a.op, p.b.op, p.m, count, p.k, std::int32_t{1}, p.a.data, p.a.ld, p.b.at(0, first), p.b.ld,
             std::int32_t{0}, sums.get(), p.m);
    finish(p, corrections, first, count, sums.get());
  }
}

void gemm_s8u8s32(int order, int trans_a, int trans_b, int offset, Size m, Size n, Size k, float alpha, const void* a,
                  Size lda, std::int8_t ao, const void* b, Size ldb, std::int8_t bo, float beta, std::int32_t* c,
                  Size ldc, const std::int32_t* co) {
  constexpr const char* c_name = "cblas_gemm_s8u8s32";
  const auto refuse = [&](int parameter, const char* what, Size value) {
    illegal_setting(parameter, c_name, what, static_cast<int>(value), column_major);
  };
  if (!is_order(order, c_name)) return;
  auto op_a = op_of(trans_a);
  auto op_b = op_of(trans_b);
  auto kind = offset_of(offset);
  if (!op_a) return refuse(2, "Illegal TransA setting, %d\n", trans_a);
  if (!op_b) return refuse(3, "Illegal TransB setting, %d\n", trans_b);
  if (!kind) return refuse(4, "Illegal OffsetC setting, %d\n", offset);
  if (m < 0) return refuse(5, "Illegal M, %d\n", m);
  if (n < 0) return refuse(6, "Illegal N, %d\n", n);
  if (k < 0) return refuse(7, "Illegal K, %d\n", k);
  const bool by_rows = order == row_major;
  if (!holds(lda, (op_a == Op::plain) != by_rows ? m : k)) return refuse(10, "Illegal lda, %d\n", lda);
  if (!holds(ldb, (op_b == Op::plain) != by_rows ? k : n)) return refuse(13, "Illegal ldb, %d\n", ldb);
  if (!holds(ldc, by_rows ? n : m)) return refuse(17, "Illegal ldc, %d\n", ldc);
  if (m == 0 || n == 0) return;
  const Report report(c_name, {{"m", m}, {"n", n}, {"k", k}});
  if (by_rows) {  // the transposed product: B's place is the signed one's, and a row of offsets is a column
    std::swap(op_a, op_b);
    std::swap(a, b);
    std::swap(lda, ldb);
    std::swap(ao, bo);
    std::swap(m, n);
    if (kind != Offset::one) kind = kind == Offset::of_row ? Offset::of_column : Offset::of_row;
  }
  run({m,
       n,
       k,
       alpha,
       {settled<float>(*op_a), static_cast<const std::int8_t*>(a), lda, ao},
       {settled<float>(*op_b), static_cast<const std::uint8_t*>(b), ldb, bo},
       beta,
       c,
       ldc,
       *kind,
       co});
}

}  // namespace
}  // namespace exactile::blas

// In column-major order A is signed and B unsigned, in row-major order A is unsigned and B signed, as in MKL.
#define EXACTILE_GEMM_S8U8S32(Int, suffix)                                                                         \
  extern "C" EXACTILE_EXPORT void cblas_gemm_s8u8s32##suffix(                                                      \
      int order, int trans_a, int trans_b, int offset, Int m, Int n, Int k, float alpha, const void* a, Int lda,   \
      std::int8_t ao, const void* b, Int ldb, std::int8_t bo, float beta, std::int32_t* c, Int ldc,                \
      const std::int32_t* co) {                                                                                    \
    exactile::blas::gemm_s8u8s32(order, trans_a, trans_b, offset, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, \
                                 ldc, co);                                                                         \
  }
EXACTILE_GEMM_S8U8S32(std::int32_t, )
EXACTILE_GEMM_S8U8S32(std::int64_t, _64)
EXACTILE_CBLAS_ALIASES(gemm_s8u8s32);
