// SPDX-License-Identifier: Apache-2.0
#include "blas/product.hpp"

#include <pthread.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

#include "blas/fallback.hpp"
#include "blas/plans.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

// Its key ends the plans with their thread. The first thread keeps them: products may come in what runs at exit.
pthread_key_t end_of_thread;
pthread_once_t has_key = PTHREAD_ONCE_INIT;

void forget(void* plans) {
  delete static_cast<Plans*>(plans);
  thread_plans = nullptr;
}

[[gnu::noinline]] Plans& make_plans() {
  pthread_once(&has_key, [] { pthread_key_create(&end_of_thread, forget); });
  thread_plans = new Plans;
  pthread_setspecific(end_of_thread, thread_plans);
  return *thread_plans;
}

[[nodiscard]] inline Plans::Place& place_of(const Key& key) {
  return (thread_plans != nullptr ? *thread_plans : make_plans()).place(key);
}

/// BLAS has no way to answer with an error.
[[noreturn]] void stop(const Status& status) {
  const std::string_view message = status.message();
  std::fprintf(stderr, "exactile: %.*s\n", static_cast<int>(message.size()), message.data());
  std::abort();
}

OperandLayout layout(Op op, Size ld) {
  return op == Op::plain ? OperandLayout{.row_stride = 1, .column_stride = ld}
                         : OperandLayout{.row_stride = ld, .column_stride = 1};
}

GemmDescription describe(ElementType type, Op op_a, Op op_b, const Key& key) {
  GemmDescription d;
  d.types = {type, type};
  d.m = key.m;
  d.n = key.n;
  d.k = key.k;
  d.a = layout(op_a, key.a);
  d.b = layout(op_b, key.b);
  d.c = layout(Op::plain, key.c);
  return d;
}

GemmOptions on_processor() {
  GemmOptions options;
  options.backend = Backend::cpu;
  options.threads = threads();
  return options;
}

[[gnu::noinline]] const Plan& plan_anew(Plans::Place& place, const Key& key, const GemmDescription& d) {
  auto made = Plan::make(d, on_processor());
  if (!made.ok()) stop(made.status());
  place.plan = std::move(made).value();
  place.key = key;
  return *place.plan;
}

template <class T>
[[nodiscard]] Status run(const Plan& plan, const T* a, const T* b, T* c, T alpha, T beta) {
  if (verbose) [[unlikely]]
    Report::says(plan.summary().kernel);
  return plan.run({.a = a, .b = b, .c = c, .alpha = alpha, .beta = beta});
}

/// What the library refuses, overlapping operands above all, has no meaning in BLAS either; a program that does it all
/// the same gets what another BLAS makes of it.
template <class T>
[[gnu::noinline]] void leave_to_fallback(const Status& status, Op op_a, Op op_b, Size m, Size n, Size k, T alpha,
                                         const T* a, Size lda, const T* b, Size ldb, T beta, T* c, Size ldc) {
  using Gemm = void(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*,
                    const T*, const int*, const T*, T*, const int*);
  auto* gemm = reinterpret_cast<Gemm*>(find_fallback(element_type_v<T> == ElementType::f64 ? "dgemm_" : "sgemm_"));
  for (const Size size : {m, n, k, lda, ldb, ldc})
    if (gemm == nullptr || size > std::numeric_limits<int>::max()) stop(status);
  Report::says("the fallback's");
  const auto sizes = std::array{static_cast<int>(m),   static_cast<int>(n),   static_cast<int>(k),
                                static_cast<int>(lda), static_cast<int>(ldb), static_cast<int>(ldc)};
  gemm(op_a == Op::plain ? "N" : "T", op_b == Op::plain ? "N" : "T", &sizes[0], &sizes[1], &sizes[2], &alpha, a,
       &sizes[3], b, &sizes[4], &beta, c, &sizes[5]);
}

/// A vector's product that is refused.
void need(const Status& status) {
  if (!status.ok()) stop(status);
}

}  // namespace

constinit thread_local Plans* thread_plans = nullptr;

void* Plans::scratch(std::size_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_.reset();
    scratch_bytes_ = 0;
    scratch_.reset(::operator new (bytes, std::align_val_t{64}));
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

void* thread_scratch(std::size_t bytes) {
  return (thread_plans != nullptr ? *thread_plans : make_plans()).scratch(bytes);
}

template <class T>
void multiply(Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* a, Size lda, const T* b, Size ldb, T beta,
              T* c, Size ldc) {
  const Key key{m, n, k, lda, ldb, ldc, form_of<T>(Kind::matrices, op_a, op_b, threads())};
  Plans::Place& place = place_of(key);
  const Plan& plan =
      place.key == key ? *place.plan : plan_anew(place, key, describe(element_type_v<T>, op_a, op_b, key));
  if (const Status status = run(plan, a, b, c, alpha, beta); !status.ok()) [[unlikely]]
    leave_to_fallback(status, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void multiply_vector(Op op_a, Size m, Size n, T alpha, const T* a, Size lda, const T* x, Size incx, T beta, T* y,
                     Size incy) {
  const Key key{m, 1, n, lda, incx, incy, form_of<T>(Kind::vectors, op_a, Op::plain, threads())};
  const Size row_step = op_a == Op::plain ? 1 : lda;
  // C's strides are positive: where y goes backwards, A's rows do instead.
  if (incy < 0) a += (m - 1) * row_step;
  if (incx < 0) x -= (n - 1) * incx;
  Plans::Place& place = place_of(key);
  if (place.key == key) return need(run(*place.plan, a, x, y, alpha, beta));
  GemmDescription d = describe(element_type_v<T>, op_a, Op::plain, key);
  if (incy < 0) d.a.row_stride = -row_step;
  d.b = {.row_stride = incx, .column_stride = 1};
  d.c = {.row_stride = incy < 0 ? -incy : incy, .column_stride = 1};
  need(run(plan_anew(place, key, d), a, x, y, alpha, beta));
}

template <class T>
void multiply_strided(Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* a, Size lda, Size a_step, const T* b,
                      Size ldb, Size b_step, T beta, T* c, Size ldc, Size c_step, Size count) {
  GemmDescription d = describe(element_type_v<T>, op_a, op_b, {m, n, k, lda, ldb, ldc, 0});
  d.a.batch_stride = a_step;
  d.b.batch_stride = b_step;
  d.c.batch_stride = c_step;
  d.batch_count = count;
  const auto plan = Plan::make(d, on_processor());
  if (plan.ok() && run(plan.value(), a, b, c, alpha, beta).ok()) return;
  // Products that write to one place, stand backwards or overlap are done one after the other.
  for (Size p = 0; p < count; ++p)
    multiply(op_a, op_b, m, n, k, alpha, a + p * a_step, lda, b + p * b_step, ldb, beta, c + p * c_step, ldc);
}

template <class T>
void multiply_listed(Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* const* a, Size lda, const T* const* b,
                     Size ldb, T beta, T* const* c, Size ldc, Size count) {
  GemmDescription d = describe(element_type_v<T>, op_a, op_b, {m, n, k, lda, ldb, ldc, 0});
  d.a.pointer_array = d.b.pointer_array = d.c.pointer_array = true;
  d.batch_count = count;
  if (const auto plan = Plan::make(d, on_processor()); plan.ok() && count > 1) {
    if (verbose) [[unlikely]]
      Report::says(plan.value().summary().kernel);
    const GemmArguments arguments{
        .a = a, .b = b, .c = const_cast<T**>(c), .alpha = alpha, .beta = beta};  // the array itself is only read
    if (plan.value().run(arguments).ok()) return;
  }
  for (Size p = 0; p < count; ++p) multiply(op_a, op_b, m, n, k, alpha, a[p], lda, b[p], ldb, beta, c[p], ldc);
}

#define EXACTILE_PRODUCTS(T)                                                                                        \
  template void multiply<T>(Op, Op, Size, Size, Size, T, const T*, Size, const T*, Size, T, T*, Size);              \
  template void multiply_vector<T>(Op, Size, Size, T, const T*, Size, const T*, Size, T, T*, Size);                 \
  template void multiply_strided<T>(Op, Op, Size, Size, Size, T, const T*, Size, Size, const T*, Size, Size, T, T*, \
                                    Size, Size, Size);                                                              \
  template void multiply_listed<T>(Op, Op, Size, Size, Size, T, const T* const*, Size, const T* const*, Size, T,    \
                                   T* const*, Size, Size)
EXACTILE_PRODUCTS(float);
EXACTILE_PRODUCTS(double);
#undef EXACTILE_PRODUCTS

}  // namespace exactile::blas
