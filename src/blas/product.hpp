// SPDX-License-Identifier: Apache-2.0
/// \file The product that all routines stand on, by columns as Fortran's matrices lie, through plans that a thread
/// keeps.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>

namespace exactile::blas {

using Size = std::int64_t;

/// conjugated: and transposed; conjugated_plain: in its place, which no letter of BLAS asks for but row-major CBLAS
/// needs.
enum class Op : std::uint8_t { plain, transposed, conjugated, conjugated_plain };

[[nodiscard]] constexpr bool is_transposed(Op op) noexcept { return op == Op::transposed || op == Op::conjugated; }
[[nodiscard]] constexpr bool is_conjugated(Op op) noexcept {
  return op == Op::conjugated || op == Op::conjugated_plain;
}

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<std::complex<T>> = true;
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

/// The number's conjugate; a real one itself.
template <class T>
[[nodiscard]] constexpr T conjugate(T x) noexcept {
  if constexpr (is_complex_v<T>)
    return std::conj(x);
  else
    return x;
}

/// C <- alpha op(A) op(B) + beta C with op(A) m x k, op(B) k x n. As the reference's gemm after its checks: where m or
/// n is 0 nothing happens, beta = 0 does not read C, alpha = 0 reads neither A nor B. Any thread may call it. A and B
/// may be narrower than C: bf16 with f32, i8 times u8 with i32.
template <class A, class B, class Out>
void multiply(Op op_a, Op op_b, Size m, Size n, Size k, Out alpha, const A* a, Size lda, const B* b, Size ldb, Out beta,
              Out* c, Size ldc);

/// y <- alpha op(A) x + beta y with op(A) m x n. The vectors' elements are incx, incy apart; both are not 0, and where
/// they are negative x and y are the lowest addresses, as BLAS has it.
template <class T>
void multiply_vector(Op op_a, Size m, Size n, T alpha, const T* a, Size lda, const T* x, Size incx, T beta, T* y,
                     Size incy);

/// `count` products; A, B and C of one are `..._step` elements behind those of the one before.
template <class T>
void multiply_strided(Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* a, Size lda, Size a_step, const T* b,
                      Size ldb, Size b_step, T beta, T* c, Size ldc, Size c_step, Size count);

/// `count` products whose matrices stand where the arrays of pointers say.
template <class T>
void multiply_listed(Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* const* a, Size lda, const T* const* b,
                     Size ldb, T beta, T* const* c, Size ldc, Size count);

}  // namespace exactile::blas
