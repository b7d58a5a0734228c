// SPDX-License-Identifier: Apache-2.0
#include "blas/product.hpp"

#include <algorithm>
#include <vector>

#include "blas/errors.hpp"
#include "blas/quick.hpp"
#include "blas/scratch.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

OperandLayout layout(Op op, Size ld) {
  return {.row_stride = is_transposed(op) ? ld : 1,
          .column_stride = is_transposed(op) ? 1 : ld,
          .conjugate = is_conjugated(op)};
}

GemmDescription describe(GemmTypes types, Op op_a, Op op_b, Size m, Size n, Size k, Size lda, Size ldb, Size ldc) {
  GemmDescription d;
  d.types = types;
  d.m = m;
  d.n = n;
  d.k = k;
  d.a = layout(op_a, lda);
  d.b = layout(op_b, ldb);
  d.c = layout(Op::plain, ldc);
  return d;
}

GemmOptions settings() {
  GemmOptions options;
  options.backend = backend;
  options.threads = threads();
  return options;
}

template <class A, class B = A, class Out = A>
constexpr GemmTypes types_v{element_type_v<A>, element_type_v<Out>, element_type_v<B>};

/// By this thread's plan of the description, or by a new one.
[[gnu::noinline]] Status run_described(const GemmDescription& d, const GemmArguments& arguments) {
  const GemmOptions options = settings();
  Status status = gemm(d, arguments, options);
  if (verbose) [[unlikely]]
    if (const auto* plan = detail::remembered_plan(d, options)) Report::says(detail::kernel_of(*plan));
  return status;
}

template <class T>
void copy(Size rows, Size columns, const T* from, Size from_ld, T* to, Size to_ld) {
  for (Size j = 0; j < columns; ++j) std::copy_n(from + j * from_ld, rows, to + j * to_ld);
}

/// The vector's element `i` in BLAS's count, which begins at the far end where the step is negative.
template <class T>
[[nodiscard]] T& element(T* vector, Size length, Size step, Size i) {
  return vector[step < 0 ? (i - length + 1) * step : i * step];
}

void need(const Status& status) {
  if (!status.ok()) [[unlikely]]
    stop(status.message());
}

template <class A, class B, class Out>
[[nodiscard]] Status try_product(Op op_a, Op op_b, Size m, Size n, Size k, Out alpha, const A* a, Size lda, const B* b,
                                 Size ldb, Out beta, Out* c, Size ldc) {
  const GemmArguments arguments{.a = a, .b = b, .c = c, .alpha = alpha, .beta = beta};
  if (const auto* plan = detail::find_plan(plain_product<A, B, Out>(op_a, op_b, m, n, k, lda, ldb, ldc)))
    return detail::run(*plan, arguments, {});
  return run_described(describe(types_v<A, B, Out>, op_a, op_b, m, n, k, lda, ldb, ldc), arguments);
}

template <class T>
[[nodiscard]] Status try_vector(Op op_a, Size m, Size n, T alpha, const T* a, Size lda, const T* x, Size incx, T beta,
                                T* y, Size incy) {
  detail::PlainProduct product = plain_vector_product<T>(op_a, m, n, lda, incx, incy < 0 ? -incy : incy);
  // C's strides are positive: where y goes backwards, A's rows do instead.
  if (incy < 0) {
    a += (m - 1) * product.a_row;
    product.a_row = -product.a_row;
  }
  if (incx < 0) x -= (n - 1) * incx;
  const GemmArguments arguments{.a = a, .b = x, .c = y, .alpha = alpha, .beta = beta};
  if (const auto* plan = detail::find_plan(product)) return detail::run(*plan, arguments, {});
  GemmDescription d = describe(types_v<T>, op_a, Op::plain, m, 1, n, lda, 1, 1);
  d.a.row_stride = product.a_row;
  d.b = {.row_stride = product.b_row, .column_stride = 1};
  d.c = {.row_stride = product.c_row, .column_stride = 1};
  return run_described(d, arguments);
}

/// Whether two of the matrices, m x n in memory, have an element in common.
template <class T>
[[nodiscard]] bool any_meet(Size m, Size n, T* const* matrices, Size ld, Size count) {
  const auto memory = allocated<std::uintptr_t>(count);
  std::uintptr_t* const places = memory.get();
  std::transform(matrices, matrices + count, places, [](T* c) { return reinterpret_cast<std::uintptr_t>(c); });
  if (!std::is_sorted(places, places + count)) std::sort(places, places + count);
  const Size last = (n - 1) * ld + m - 1;
  for (Size i = 0; i < count; ++i)
    for (Size other = i + 1; other < count; ++other) {
      const auto distance = static_cast<Size>((places[other] - places[i]) / sizeof(T));
      if (distance > last) break;
      if (distance % ld < m || (distance % ld > ld - m && distance / ld + 1 < n)) return true;
    }
  return false;
}

}  // namespace

// The library refuses a C that may share memory with A or B. Here it may lie between their elements, and where it lies
// on them, which has no meaning in BLAS, they count as they were before: the product goes by way of a copy.

template <class A, class B, class Out>
void multiply(Op op_a, Op op_b, Size m, Size n, Size k, Out alpha, const A* a, Size lda, const B* b, Size ldb, Out beta,
              Out* c, Size ldc) {
  if (try_product(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc).ok()) [[likely]]
    return;
  const auto apart = allocated<Out>(m * n);
  copy(m, n, c, ldc, apart.get(), m);
  need(try_product(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, apart.get(), m));
  copy(m, n, apart.get(), m, c, ldc);
}

template <class T>
void multiply_vector(Op op_a, Size m, Size n, T alpha, const T* a, Size lda, const T* x, Size incx, T beta, T* y,
                     Size incy) {
  if (try_vector(op_a, m, n, alpha, a, lda, x, incx, beta, y, incy).ok()) [[likely]]
    return;
  const auto memory = allocated<T>(m);
  T* const apart = memory.get();
  for (Size i = 0; i < m; ++i) apart[i] = element(y, m, incy, i);
  need(try_vector(op_a, m, n, alpha, a, lda, x, incx, beta, apart, 1));
  for (Size i = 0; i < m; ++i) element(y, m, incy, i) = apart[i];
}

template <class T>
void multiply_strided(Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* a, Size lda, Size a_step, const T* b,
                      Size ldb, Size b_step, T beta, T* c, Size ldc, Size c_step, Size count) {
  GemmDescription d = describe(types_v<T>, op_a, op_b, m, n, k, lda, ldb, ldc);
  d.a.batch_stride = a_step;
  d.b.batch_stride = b_step;
  d.c.batch_stride = c_step;
  d.batch_count = count;
  if (run_described(d, {.a = a, .b = b, .c = c, .alpha = alpha, .beta = beta}).ok()) return;
  // Products that write to one place, stand backwards or overlap are done one after the other.
  for (Size p = 0; p < count; ++p)
    multiply(op_a, op_b, m, n, k, alpha, a + p * a_step, lda, b + p * b_step, ldb, beta, c + p * c_step, ldc);
}

template <class T>
void multiply_listed(Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* const* a, Size lda, const T* const* b,
                     Size ldb, T beta, T* const* c, Size ldc, Size count) {
  GemmDescription d = describe(types_v<T>, op_a, op_b, m, n, k, lda, ldb, ldc);
  d.a.pointer_array = d.b.pointer_array = d.c.pointer_array = true;
  d.batch_count = count;
  const GemmArguments arguments{
      .a = a, .b = b, .c = const_cast<T**>(c), .alpha = alpha, .beta = beta};  // the array itself is only read
  // As in a strided batch, products that write to one place follow one another, as those of one thread do anyhow.
  if (count > 1 && (threads() == 1 || !any_meet(m, n, c, ldc, count)) && run_described(d, arguments).ok()) return;
  for (Size p = 0; p < count; ++p) multiply(op_a, op_b, m, n, k, alpha, a[p], lda, b[p], ldb, beta, c[p], ldc);
}

#define EXACTILE_PRODUCTS(T)                                                                                        \
  template void multiply(Op, Op, Size, Size, Size, T, const T*, Size, const T*, Size, T, T*, Size);                 \
  template void multiply_vector<T>(Op, Size, Size, T, const T*, Size, const T*, Size, T, T*, Size);                 \
  template void multiply_strided<T>(Op, Op, Size, Size, Size, T, const T*, Size, Size, const T*, Size, Size, T, T*, \
                                    Size, Size, Size);                                                              \
  template void multiply_listed<T>(Op, Op, Size, Size, Size, T, const T* const*, Size, const T* const*, Size, T,    \
                                   T* const*, Size, Size)
EXACTILE_PRODUCTS(float);
EXACTILE_PRODUCTS(double);
EXACTILE_PRODUCTS(std::complex<float>);
EXACTILE_PRODUCTS(std::complex<double>);
#undef EXACTILE_PRODUCTS
template void multiply(Op, Op, Size, Size, Size, float, const BFloat16*, Size, const BFloat16*, Size, float, float*,
                       Size);
template void multiply(Op, Op, Size, Size, Size, std::int32_t, const std::int8_t*, Size, const std::uint8_t*, Size,
                       std::int32_t, std::int32_t*, Size);

}  // namespace exactile::blas
