// SPDX-License-Identifier: Apache-2.0
/// \file
/// The typed face of the library: C <- activation(alpha * A * B + beta * C + bias), with factors for rows of A and
/// columns of B where they are given.
///
///     std::vector<float> a(m * k), b(k * n), c(m * n);
///     exactile::Status status = exactile::gemm(exactile::MatrixView(a.data(), m, k),
///                                              exactile::MatrixView(b.data(), k, n),
///                                              exactile::MatrixView(c.data(), m, n));
///
/// A is m x k, B is k x n, C is m x n; op(A) = A^T is a.transposed(), conj(A) is a.conjugated(). See Plan::run() for
/// the meaning of special values, empty sizes and overlap, Accuracy for the error bound, and GemmOptions for backend,
/// kernel and threads. Thread-safe: any number of threads may call at once on operands that do not overlap.
#pragma once

#include <concepts>
#include <type_traits>

#include "exactile/detail/remembered.hpp"
#include "exactile/matrix_view.hpp"
#include "exactile/plan.hpp"

namespace exactile {

/// What a call may say beyond its matrices: gemm(a, b, c, {.alpha = 2, .beta = 1}). What is pointed at is there: a null
/// pointer means none.
template <class In, class Out>
struct GemmCall {
  Accumulator<In, Out> alpha = Accumulator<In, Out>(1);
  Accumulator<In, Out> beta = Accumulator<In, Out>(0);
  const Accumulator<In, Out>* row_scales = nullptr;     ///< m factors, one for each row of A; see GemmArguments
  const Accumulator<In, Out>* column_scales = nullptr;  ///< n factors, one for each column of B
  const Out* row_bias = nullptr;                        ///< m elements; number i is added to every element of row i
  const Out* column_bias = nullptr;                     ///< n elements, one for each column; not beside a row_bias
  Activation activation = Activation::none;
  /// What Plan::prepare() made of A or B. The view beside it gives sizes and strides; its data is not used.
  const PreparedOperand* prepared_a = nullptr;
  const PreparedOperand* prepared_b = nullptr;
  Execution execution = {};  ///< for operands in device memory: the queue and the workspace
  GemmOptions options = {};
};

namespace detail {

/// Shapes that do not fit, said with the argument's name and both values.
[[nodiscard]] Status check_shapes(std::int64_t a_rows, std::int64_t a_columns, std::int64_t b_rows,
                                  std::int64_t b_columns, std::int64_t c_rows, std::int64_t c_columns);
[[nodiscard]] Status check_batch_counts(std::int64_t a, std::int64_t b, std::int64_t c);
/// For C beside a D.
[[nodiscard]] Status check_same_shape(std::int64_t c_rows, std::int64_t c_columns, std::int64_t c_count,
                                      std::int64_t d_rows, std::int64_t d_columns, std::int64_t d_count);
[[nodiscard]] Status two_biases();

template <class View>
struct ViewElement;
template <class T>
struct ViewElement<MatrixView<T>> : std::type_identity<T> {};
template <class T>
struct ViewElement<BatchView<T>> : std::type_identity<T> {};
template <class T>
struct ViewElement<PointerBatchView<T>> : std::type_identity<T> {};
template <class View>
using ElementOf = typename ViewElement<View>::type;
template <class View>
using ValueOf = std::remove_const_t<ElementOf<View>>;

/// A view as the untyped call takes it.
struct ErasedOperand {
  void* data = nullptr;  ///< the elements, or the array of pointers to them
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t count = 1;
  OperandLayout layout;
  bool is_batch = false;

  template <class T>
  ErasedOperand(const MatrixView<T>& v)  // NOLINT(*-explicit-*)
      : ErasedOperand(v, v.data, 1, 0) {}
  template <class T>
  ErasedOperand(const BatchView<T>& v)  // NOLINT(*-explicit-*)
      : ErasedOperand(v.first, v.first.data, v.count, v.stride) {
    is_batch = true;
  }
  template <class T>
  ErasedOperand(const PointerBatchView<T>& v)  // NOLINT(*-explicit-*)
      : ErasedOperand(v.shape, v.pointers, v.count, 0) {
    is_batch = layout.pointer_array = true;
  }

 private:
  template <class T>
  ErasedOperand(const MatrixView<T>& shape, const void* elements, std::int64_t how_many, std::int64_t stride)
      : data(const_cast<void*>(elements)),
        rows(shape.rows),
        columns(shape.columns),
        count(how_many),
        layout{shape.row_stride, shape.column_stride, stride, false, shape.conjugate} {}
};

template <class A, class B, class Out>
inline constexpr GemmTypes types_of{element_type_v<A>, element_type_v<Out>, element_type_v<B>};

/// `c` is null where D is C.
template <class In, class Out>
[[nodiscard]] Status gemm_operands(GemmTypes types, const ErasedOperand& a, const ErasedOperand& b,
                                   const ErasedOperand* c, const ErasedOperand& d, const GemmCall<In, Out>& call) {
  const std::int64_t count = d.count;
  if (a.rows < 0 || b.columns < 0 || a.columns < 0 || a.columns != b.rows || d.rows != a.rows || d.columns != b.columns)
    return check_shapes(a.rows, a.columns, b.rows, b.columns, d.rows, d.columns);
  if ((a.is_batch && a.count != count) || (b.is_batch && b.count != count))
    return check_batch_counts(a.is_batch ? a.count : count, b.is_batch ? b.count : count, count);
  if (c != nullptr && (c->rows != d.rows || c->columns != d.columns || (c->is_batch && c->count != count)))
    return check_same_shape(c->rows, c->columns, c->is_batch ? c->count : count, d.rows, d.columns, count);
  if (call.row_bias != nullptr && call.column_bias != nullptr) return two_biases();
  GemmDescription description{.types = types,
                              .m = a.rows,
                              .n = b.columns,
                              .k = a.columns,
                              .a = a.layout,
                              .b = b.layout,
                              .c = c == nullptr ? d.layout : c->layout,
                              .batch_count = count,
                              .bias = call.row_bias != nullptr      ? Bias::per_row
                                      : call.column_bias != nullptr ? Bias::per_column
                                                                    : Bias::none,
                              .activation = call.activation,
                              .row_scales = call.row_scales != nullptr,
                              .column_scales = call.column_scales != nullptr};
  if (c != nullptr) description.d = d.layout;
  return gemm(description,
              {.a = call.prepared_a == nullptr ? a.data : nullptr,
               .b = call.prepared_b == nullptr ? b.data : nullptr,
               .c = c == nullptr ? d.data : c->data,
               .alpha = call.alpha,
               .beta = call.beta,
               .bias = call.row_bias != nullptr ? call.row_bias : call.column_bias,
               .prepared_a = call.prepared_a,
               .prepared_b = call.prepared_b,
               .row_scales = call.row_scales,
               .column_scales = call.column_scales,
               .d = c == nullptr ? nullptr : d.data},
              call.options, call.execution);
}

template <class View>
inline constexpr bool is_matrix = false;
template <class T>
inline constexpr bool is_matrix<MatrixView<T>> = true;

/// A call with matrices, alpha and beta and nothing else to it.
template <class In, class Out>
[[nodiscard]] inline bool is_plain(const GemmCall<In, Out>& call) noexcept {
  return call.row_scales == nullptr && call.column_scales == nullptr && call.row_bias == nullptr &&
         call.column_bias == nullptr && call.activation == Activation::none && call.prepared_a == nullptr &&
         call.prepared_b == nullptr && is_plain(call.options);
}

/// The plan by which this thread made the same call before; null where there is none, or more to the call.
template <class A, class B, class Out, class In>
[[nodiscard]] inline const PlanState* plan_of(const MatrixView<A>& a, const MatrixView<B>& b, const MatrixView<Out>& c,
                                              const GemmCall<In, Out>& call) noexcept {
  if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns || c.conjugate || !is_plain(call))
    return nullptr;
  return find_plan(
      {.m = a.rows,
       .n = b.columns,
       .k = a.columns,
       .a_row = a.row_stride,
       .a_column = a.column_stride,
       .b_row = b.row_stride,
       .b_column = b.column_stride,
       .c_row = c.row_stride,
       .c_column = c.column_stride,
       .form = plain_form(types_of<A, B, Out>, a.conjugate, b.conjugate, call.options.backend, call.options.threads)});
}

template <class A, class B, class Out, class In>
[[nodiscard]] inline Status run(const PlanState& plan, const MatrixView<A>& a, const MatrixView<B>& b,
                                const MatrixView<Out>& c, const GemmCall<In, Out>& call) {
  if constexpr (std::is_floating_point_v<Accumulator<In, Out>>)
    if (run_quickly(plan, a.data, b.data, c.data, call.alpha, call.beta)) return {};
  return run(plan, {.a = a.data, .b = b.data, .c = c.data, .alpha = call.alpha, .beta = call.beta}, call.execution);
}

template <class T>
inline constexpr bool is_byte = std::is_integral_v<T> && sizeof(T) == 1;

template <class A, class B, class Out>
constexpr void check_elements() {
  static_assert(
      is_element_type<A> && is_element_type<B> && is_element_type<Out>,
      "exactile multiplies double, float, 16-bit and 8-bit floats (exactile's own, the compiler's and CUDA's: "
      "see types.hpp and interop/cuda.hpp), signed integers of 64, 32, 16 and 8 bits, unsigned bytes, "
      "std::complex<double> and std::complex<float>: the element type of this view is none of them");
  static_assert(std::is_same_v<std::remove_const_t<A>, std::remove_const_t<B>> || (is_byte<A> && is_byte<B>),
                "exactile multiplies matrices of one element type, or bytes with and without a sign: A's and B's are "
                "different");
  static_assert(!std::is_const_v<Out>, "exactile writes the last matrix: its element type must not be const");
}

}  // namespace detail

/// What gemm() takes for a matrix: MatrixView, or for a batch BatchView or PointerBatchView.
template <class View>
concept MatrixOperand = requires {
  typename detail::ViewElement<View>::type;
};

/// C <- activation(alpha * A * B + beta * C + bias). A and B have one element type, or are bytes with and without a
/// sign (std::int8_t, std::uint8_t); C has that type or one that all_gemm_types() pairs with it. Where C is a batch, A
/// and B are batches of as many, or one matrix that all products share. Different products of a batch must not write to
/// one place.
template <MatrixOperand A, MatrixOperand B, MatrixOperand C, class In = detail::ValueOf<A>,
          class Out = detail::ElementOf<C>>
[[nodiscard]] Status gemm(const A& a, const B& b, const C& c,
                          const std::type_identity_t<GemmCall<In, std::remove_const_t<Out>>>& call = {}) {
  detail::check_elements<detail::ElementOf<A>, detail::ElementOf<B>, Out>();
  if constexpr (detail::is_matrix<A> && detail::is_matrix<B> && detail::is_matrix<C>)
    if (const detail::PlanState* plan = detail::plan_of(a, b, c, call)) return detail::run(*plan, a, b, c, call);
  return detail::gemm_operands<In, std::remove_const_t<Out>>(
      detail::types_of<detail::ElementOf<A>, detail::ElementOf<B>, Out>, a, b, nullptr, c, call);
}

/// D <- activation(alpha * A * B + beta * C + bias): C is only read, and only where beta (0 unless said) is not 0. D
/// has C's shape and element type, and is C itself or shares no element with it. One C may serve a whole batch.
template <MatrixOperand A, MatrixOperand B, MatrixOperand C, MatrixOperand D, class In = detail::ValueOf<A>,
          class Out = detail::ElementOf<D>>
[[nodiscard]] Status gemm(const A& a, const B& b, const C& c, const D& d,
                          const std::type_identity_t<GemmCall<In, std::remove_const_t<Out>>>& call) {
  detail::check_elements<detail::ElementOf<A>, detail::ElementOf<B>, Out>();
  static_assert(std::is_same_v<detail::ValueOf<C>, std::remove_const_t<Out>>,
                "exactile adds a C of D's element type: theirs are different");
  const detail::ErasedOperand addend(c);
  return detail::gemm_operands<In, std::remove_const_t<Out>>(
      detail::types_of<detail::ElementOf<A>, detail::ElementOf<B>, Out>, a, b, &addend, d, call);
}

}  // namespace exactile
