// SPDX-License-Identifier: Apache-2.0
#include "blas/product.hpp"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "blas/errors.hpp"
#include "blas/plans.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

// Its key ends the plans with their thread. The first thread keeps them: products may come in what runs at exit.
pthread_key_t end_of_thread;
bool has_key = false;  ///< where keys are exhausted plans stay
pthread_once_t asked_for_key = PTHREAD_ONCE_INIT;

void forget(void* plans) {
  delete static_cast<Plans*>(plans);
  thread_plans = nullptr;
}

[[gnu::noinline]] Plans& make_plans() {
  pthread_once(&asked_for_key, [] { has_key = pthread_key_create(&end_of_thread, forget) == 0; });
  thread_plans = new (std::nothrow) Plans;
  if (thread_plans == nullptr) stop("out of memory for a thread's plans");
  if (has_key) pthread_setspecific(end_of_thread, thread_plans);
  return *thread_plans;
}

[[nodiscard]] inline Plans::Place& place_of(const Key& key) {
  return (thread_plans != nullptr ? *thread_plans : make_plans()).place(key);
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
  if (!made.ok()) stop(made.status().message());
  place.plan = std::move(made).value();
  place.key = key;
  return *place.plan;
}

template <class T>
[[nodiscard]] Status run(const Plan& plan, const T* a, const T* b, T* c, T alpha, T beta) {
  if (verbose) [[unlikely]]
    Report::says(plan.kernel());
  return plan.run({.a = a, .b = b, .c = c, .alpha = alpha, .beta = beta});
}

/// Elements of the call's own; not thread_scratch(), which a routine around it may be using.
template <class T>
[[nodiscard]] std::unique_ptr<T[]> own(Size count) {
  auto* memory = count < 0 ? nullptr : new (std::nothrow) T[static_cast<std::size_t>(count)];
  if (memory == nullptr) stop("out of memory for a copy of operands that lie among each other");
  return std::unique_ptr<T[]>(memory);
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

template <class T>
[[nodiscard]] Status try_product(Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* a, Size lda, const T* b,
                                 Size ldb, T beta, T* c, Size ldc) {
  const Key key{m, n, k, lda, ldb, ldc, form_of<T>(Kind::matrices, op_a, op_b, threads())};
  Plans::Place& place = place_of(key);
  const Plan& plan =
      place.key == key ? *place.plan : plan_anew(place, key, describe(element_type_v<T>, op_a, op_b, key));
  return run(plan, a, b, c, alpha, beta);
}

template <class T>
[[nodiscard]] Status try_vector(Op op_a, Size m, Size n, T alpha, const T* a, Size lda, const T* x, Size incx, T beta,
                                T* y, Size incy) {
  const Key key{m, 1, n, lda, incx, incy, form_of<T>(Kind::vectors, op_a, Op::plain, threads())};
  const Size row_step = op_a == Op::plain ? 1 : lda;
  // C's strides are positive: where y goes backwards, A's rows do instead.
  if (incy < 0) a += (m - 1) * row_step;
  if (incx < 0) x -= (n - 1) * incx;
  Plans::Place& place = place_of(key);
  if (place.key == key) return run(*place.plan, a, x, y, alpha, beta);
  GemmDescription d = describe(element_type_v<T>, op_a, Op::plain, key);
  if (incy < 0) d.a.row_stride = -row_step;
  d.b = {.row_stride = incx, .column_stride = 1};
  d.c = {.row_stride = incy < 0 ? -incy : incy, .column_stride = 1};
  return run(plan_anew(place, key, d), a, x, y, alpha, beta);
}

/// Whether two of the matrices, m x n in memory, have an element in common.
template <class T>
[[nodiscard]] bool any_meet(Size m, Size n, T* const* matrices, Size ld, Size count) {
  const auto places = own<std::uintptr_t>(count);
  std::transform(matrices, matrices + count, places.get(), [](T* c) { return reinterpret_cast<std::uintptr_t>(c); });
  if (!std::is_sorted(places.get(), places.get() + count)) std::sort(places.get(), places.get() + count);
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

constinit thread_local Plans* thread_plans = nullptr;

void* Plans::scratch(std::size_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_.reset();
    scratch_bytes_ = 0;
    scratch_.reset(::operator new (bytes, std::align_val_t{64}, std::nothrow));
    if (scratch_ == nullptr) stop("out of memory for a block of a triangle");
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

void* thread_scratch(std::size_t bytes) {
  return (thread_plans != nullptr ? *thread_plans : make_plans()).scratch(bytes);
}

// The library refuses a C that may share memory with A or B. Here it may lie between their elements, and where it lies
// on them, which has no meaning in BLAS, they count as they were before: the product goes by way of a copy.

template <class T>
void multiply(Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* a, Size lda, const T* b, Size ldb, T beta,
              T* c, Size ldc) {
  if (try_product(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc).ok()) [[likely]]
    return;
  const auto apart = own<T>(m * n);
  copy(m, n, c, ldc, apart.get(), m);
  need(try_product(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, apart.get(), m));
  copy(m, n, apart.get(), m, c, ldc);
}

template <class T>
void multiply_vector(Op op_a, Size m, Size n, T alpha, const T* a, Size lda, const T* x, Size incx, T beta, T* y,
                     Size incy) {
  if (try_vector(op_a, m, n, alpha, a, lda, x, incx, beta, y, incy).ok()) [[likely]]
    return;
  const auto apart = own<T>(m);
  for (Size i = 0; i < m; ++i) apart[i] = element(y, m, incy, i);
  need(try_vector(op_a, m, n, alpha, a, lda, x, incx, beta, apart.get(), 1));
  for (Size i = 0; i < m; ++i) element(y, m, incy, i) = apart[i];
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
  const GemmArguments arguments{
      .a = a, .b = b, .c = const_cast<T**>(c), .alpha = alpha, .beta = beta};  // the array itself is only read
  // As in a strided batch, products that write to one place follow one another, as those of one thread do anyhow.
  if (count > 1 && (threads() == 1 || !any_meet(m, n, c, ldc, count)))
    if (const auto plan = Plan::make(d, on_processor()); plan.ok()) {
      if (verbose) [[unlikely]]
        Report::says(plan.value().kernel());
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
