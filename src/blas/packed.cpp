// SPDX-License-Identifier: Apache-2.0
// MKL's ?gemm_pack_get_size, ?gemm_pack and ?gemm_compute. What is packed is alpha op(A), or alpha op(B), by columns,
// in the caller's memory alone: the matrix that it was made of may go.
#include <algorithm>
#include <cstddef>

#include "blas/arguments.hpp"
#include "blas/export.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

enum : int { a_matrix = 161, b_matrix = 162, packed = 151 };

/// An operand of a compute call: stored anyhow, or packed.
struct Stored {
  Op op;
  bool is_packed;
};

[[nodiscard]] std::optional<Stored> stored_of(std::optional<Op> op, bool is_packed) noexcept {
  if (is_packed) return Stored{Op::plain, true};
  if (!op) return std::nullopt;
  return Stored{settled<float>(*op), false};
}

/// How a call names itself, and in which order its matrices lie; `c_name` is null in a Fortran call.
struct Call {
  const char* name;
  const char* c_name;
  bool by_rows;
  int behind = 1;  ///< the C call's parameters are so many places behind the Fortran call's
};

/// No reference's routine stands behind a C call: its parameters are counted as they stand there.
[[nodiscard]] bool is_bad(const Checks& checks, const Call& call) {
  if (call.c_name == nullptr) return checks.is_bad(call.name, from_fortran);
  if (checks.wrong() != 0) illegal_setting(checks.wrong() + call.behind, call.c_name, "", 0, column_major);
  return checks.wrong() != 0;
}

template <class T>
[[nodiscard]] std::size_t pack_size(const char* name, const char* c_name, std::optional<bool> is_a, Size m, Size n,
                                    Size k) {
  if (is_bad(Checks().that(is_a.has_value(), 1).that(m >= 0, 2).that(n >= 0, 3).that(k >= 0, 4),
             {name, c_name, false, 0}))
    return 0;
  return sizeof(T) * static_cast<std::size_t>(*is_a ? m * k : k * n);
}

/// `by_rows`: the source lies by rows. What is packed lies by columns whatever the order.
template <class T>
void pack(const Call& call, std::optional<bool> is_a, std::optional<Op> op, Size m, Size n, Size k, T alpha,
          const T* from, Size ld, T* to) {
  const Size height = is_a == true ? m : k;
  const Size width = is_a == true ? k : n;
  const bool lies_plain = (op == Op::plain) != call.by_rows;
  if (is_bad(Checks()
                 .that(is_a.has_value(), 1)
                 .that(op.has_value(), 2)
                 .that(m >= 0, 3)
                 .that(n >= 0, 4)
                 .that(k >= 0, 5)
                 .that(holds(ld, lies_plain ? height : width), 8),
             call))
    return;
  if (alpha == T(0)) {  // which reads no matrix
    std::fill_n(to, height * width, T(0));
    return;
  }
  constexpr Size side = 16;  // tiles, so that one side or the other does not leave L1
  for (Size left = 0; left < width; left += side)
    for (Size top = 0; top < height; top += side)
      for (Size j = left; j < std::min(width, left + side); ++j)
        for (Size i = top; i < std::min(height, top + side); ++i)
          to[i + j * height] = alpha * (lies_plain ? from[i + j * ld] : from[j + i * ld]);
}

template <class T>
void compute(const Call& call, std::optional<Stored> of_a, std::optional<Stored> of_b, Size m, Size n, Size k,
             const T* a, Size lda, const T* b, Size ldb, T beta, T* c, Size ldc) {
  const auto fits = [&](const std::optional<Stored>& x, Size ld, Size height, Size width) {
    return !x || x->is_packed || holds(ld, (x->op == Op::plain) != call.by_rows ? height : width);
  };
  if (is_bad(Checks()
                 .that(of_a.has_value(), 1)
                 .that(of_b.has_value(), 2)
                 .that(m >= 0, 3)
                 .that(n >= 0, 4)
                 .that(k >= 0, 5)
                 .that(fits(of_a, lda, m, k), 7)
                 .that(fits(of_b, ldb, k, n), 9)
                 .that(holds(ldc, call.by_rows ? n : m), 12),
             call))
    return;
  if (m == 0 || n == 0) return;
  const Report report(call.name, {{"m", m}, {"n", n}, {"k", k}});
  // Read by columns, a matrix by rows is transposed, but what is packed is not: it lies by columns already.
  const auto op_of_transposed = [](const Stored& x) { return x.is_packed ? Op::transposed : x.op; };
  if (of_a->is_packed) lda = std::max<Size>(m, 1);
  if (of_b->is_packed) ldb = std::max<Size>(k, 1);
  if (call.by_rows)
    multiply(op_of_transposed(*of_b), op_of_transposed(*of_a), n, m, k, T(1), b, ldb, a, lda, beta, c, ldc);
  else
    multiply(of_a->op, of_b->op, m, n, k, T(1), a, lda, b, ldb, beta, c, ldc);
}

[[nodiscard]] std::optional<bool> is_a(int identifier) noexcept {
  if (identifier == a_matrix) return true;
  if (identifier == b_matrix) return false;
  return std::nullopt;
}
[[nodiscard]] std::optional<bool> is_a(const char* identifier) noexcept {
  if (letter(identifier) == 'A') return true;
  if (letter(identifier) == 'B') return false;
  return std::nullopt;
}
[[nodiscard]] std::optional<Stored> stored_of(int number) noexcept {
  return stored_of(op_of(number), number == packed);
}
[[nodiscard]] std::optional<Stored> stored_of(const char* text) noexcept {
  return stored_of(op_of(letter(text)), letter(text) == 'P');
}

}  // namespace
}  // namespace exactile::blas

namespace blas = exactile::blas;

#define EXACTILE_PACK(T, l, NAME, Int, suffix)                                                                        \
  extern "C" EXACTILE_EXPORT std::size_t cblas_##l##gemm_pack_get_size##suffix(int identifier, Int m, Int n, Int k) { \
    return blas::pack_size<T>(NAME "_PACK_GET_SIZE", "cblas_" #l "gemm_pack_get_size", blas::is_a(identifier), m, n,  \
                              k);                                                                                     \
  }                                                                                                                   \
  extern "C" EXACTILE_EXPORT std::size_t l##gemm_pack_get_size##suffix##_(const char* identifier, const Int* m,       \
                                                                          const Int* n, const Int* k) {               \
    return blas::pack_size<T>(NAME "_PACK_GET_SIZE", nullptr, blas::is_a(identifier), *m, *n, *k);                    \
  }                                                                                                                   \
  extern "C" EXACTILE_EXPORT void cblas_##l##gemm_pack##suffix(int order, int identifier, int trans, Int m, Int n,    \
                                                               Int k, T alpha, const T* from, Int ld, T* to) {        \
    constexpr const char* c_name = "cblas_" #l "gemm_pack";                                                           \
    if (blas::is_order(order, c_name))                                                                                \
      blas::pack<T>({NAME "_PACK", c_name, order == blas::row_major}, blas::is_a(identifier), blas::op_of(trans), m,  \
                    n, k, alpha, from, ld, to);                                                                       \
  }                                                                                                                   \
  extern "C" EXACTILE_EXPORT void l##gemm_pack##suffix##_(const char* identifier, const char* trans, const Int* m,    \
                                                          const Int* n, const Int* k, const T* alpha, const T* from,  \
                                                          const Int* ld, T* to) {                                     \
    blas::pack<T>({NAME "_PACK", nullptr, false}, blas::is_a(identifier), blas::op_of(blas::letter(trans)), *m, *n,   \
                  *k, *alpha, from, *ld, to);                                                                         \
  }                                                                                                                   \
  extern "C" EXACTILE_EXPORT void cblas_##l##gemm_compute##suffix(int order, int trans_a, int trans_b, Int m, Int n,  \
                                                                  Int k, const T* a, Int lda, const T* b, Int ldb,    \
                                                                  T beta, T* c, Int ldc) {                            \
    constexpr const char* c_name = "cblas_" #l "gemm_compute";                                                        \
    if (blas::is_order(order, c_name))                                                                                \
      blas::compute<T>({NAME "_COMPUTE", c_name, order == blas::row_major}, blas::stored_of(trans_a),                 \
                       blas::stored_of(trans_b), m, n, k, a, lda, b, ldb, beta, c, ldc);                              \
  }                                                                                                                   \
  extern "C" EXACTILE_EXPORT void l##gemm_compute##suffix##_(                                                         \
      const char* trans_a, const char* trans_b, const Int* m, const Int* n, const Int* k, const T* a, const Int* lda, \
      const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {                                              \
    blas::compute<T>({NAME "_COMPUTE", nullptr, false}, blas::stored_of(trans_a), blas::stored_of(trans_b), *m, *n,   \
                     *k, a, *lda, b, *ldb, *beta, c, *ldc);                                                           \
  }

#define EXACTILE_PACK_NAMES(T, l, NAME)            \
  EXACTILE_PACK(T, l, NAME, std::int32_t, )        \
  EXACTILE_PACK(T, l, NAME, std::int64_t, _64)     \
  EXACTILE_FORTRAN_ALIASES(l##gemm_pack_get_size); \
  EXACTILE_FORTRAN_ALIASES(l##gemm_pack);          \
  EXACTILE_FORTRAN_ALIASES(l##gemm_compute);       \
  EXACTILE_CBLAS_ALIASES(l##gemm_pack_get_size);   \
  EXACTILE_CBLAS_ALIASES(l##gemm_pack);            \
  EXACTILE_CBLAS_ALIASES(l##gemm_compute)
EXACTILE_PACK_NAMES(float, s, "SGEMM");
EXACTILE_PACK_NAMES(double, d, "DGEMM");
