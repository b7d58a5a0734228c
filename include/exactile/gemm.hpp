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
/// A is m x k, B is k x n, C is m x n; op(A) = A^T is a.transposed(). See Plan::run() for the meaning of special
/// values, empty sizes and overlap, Accuracy for the error bound, and GemmOptions for backend, kernel and threads.
/// Thread-safe: any number of threads may call at once on operands that do not overlap.
#pragma once

#include <type_traits>

#include "exactile/matrix_view.hpp"
#include "exactile/plan.hpp"

namespace exactile {

/// What a call may say beyond its matrices: gemm(a, b, c, {.alpha = 2, .beta = 1}).
template <class In, class Out>
struct GemmCall {
  Accumulator<In> alpha = Accumulator<In>(1);
  Accumulator<In> beta = Accumulator<In>(0);
  const Accumulator<In>* row_scales = nullptr;  ///< see GemmArguments; null: none
  const Accumulator<In>* column_scales = nullptr;
  Epilogue<Out> epilogue = {};
  GemmOptions options = {};
};

namespace detail {

/// A and B have one element type, and C can be written.
template <class A, class B, class Out>
concept Multipliable = std::is_same_v<std::remove_const_t<A>, std::remove_const_t<B>> && !std::is_const_v<Out>;

/// Shapes that do not fit, said with the argument's name and both values.
[[nodiscard]] Status check_shapes(std::int64_t a_rows, std::int64_t a_columns, std::int64_t b_rows,
                                  std::int64_t b_columns, std::int64_t c_rows, std::int64_t c_columns);
[[nodiscard]] Status check_batch_counts(std::int64_t a, std::int64_t b, std::int64_t c);

template <class T>
struct TypedOperand {
  MatrixView<T> shape;
  std::int64_t count = 1;
  std::int64_t batch_stride = 0;
  T* const* pointers = nullptr;
  bool batched = false;

  TypedOperand(const MatrixView<T>& view) : shape(view) {}  // NOLINT(*-explicit-*)
  TypedOperand(const BatchView<T>& view)                    // NOLINT(*-explicit-*)
      : shape(view.first), count(view.count), batch_stride(view.stride), batched(true) {}
  TypedOperand(const PointerBatchView<T>& view)  // NOLINT(*-explicit-*)
      : shape(view.shape), count(view.count), pointers(view.pointers), batched(true), by_pointer_(true) {}

  [[nodiscard]] OperandLayout layout() const {
    return {shape.row_stride, shape.column_stride, batch_stride, by_pointer_};
  }
  /// What GemmArguments takes: the elements, or the array of pointers to them.
  [[nodiscard]] void* data() const {
    const void* erased = by_pointer_ ? static_cast<const void*>(pointers) : static_cast<const void*>(shape.data);
    return const_cast<void*>(erased);
  }

 private:
  bool by_pointer_ = false;
};

template <class In, class Out>
[[nodiscard]] Status gemm_operands(const TypedOperand<const In>& a, const TypedOperand<const In>& b,
                                   const TypedOperand<Out>& c, const GemmCall<In, Out>& call) {
  const std::int64_t count = c.count;
  if (Status s =
          check_shapes(a.shape.rows, a.shape.columns, b.shape.rows, b.shape.columns, c.shape.rows, c.shape.columns);
      !s.ok())
    return s;
  if (Status s = check_batch_counts(a.batched ? a.count : count, b.batched ? b.count : count, count); !s.ok()) return s;
  const GemmDescription description{.types = {element_type_v<In>, element_type_v<Out>},
                                    .m = a.shape.rows,
                                    .n = b.shape.columns,
                                    .k = a.shape.columns,
                                    .a = a.layout(),
                                    .b = b.layout(),
                                    .c = c.layout(),
                                    .batch_count = count,
                                    .bias = call.epilogue.bias,
                                    .activation = call.epilogue.activation,
                                    .row_scales = call.row_scales != nullptr,
                                    .column_scales = call.column_scales != nullptr};
  return gemm(description,
              {.a = a.data(),
               .b = b.data(),
               .c = c.data(),
               .alpha = call.alpha,
               .beta = call.beta,
               .bias = call.epilogue.bias_data,
               .row_scales = call.row_scales,
               .column_scales = call.column_scales},
              call.options);
}

}  // namespace detail

/// One product. A and B have one element type; C has that type or one that GemmTypes pairs with it.
template <class A, class B, class Out, class In = std::remove_const_t<A>>
  requires detail::Multipliable<A, B, Out>
[[nodiscard]] Status gemm(MatrixView<A> a, MatrixView<B> b, MatrixView<Out> c,
                          const std::type_identity_t<GemmCall<In, Out>>& call = {}) {
  return detail::gemm_operands<In, Out>(MatrixView<const In>(a), MatrixView<const In>(b), c, call);
}

/// Products of a strided batch: counts must be equal; stride 0 in A or B uses one matrix for all.
template <class A, class B, class Out, class In = std::remove_const_t<A>>
  requires detail::Multipliable<A, B, Out>
[[nodiscard]] Status gemm(const BatchView<A>& a, const BatchView<B>& b, const BatchView<Out>& c,
                          const std::type_identity_t<GemmCall<In, Out>>& call = {}) {
  return detail::gemm_operands<In, Out>(BatchView<const In>{a.first, a.count, a.stride},
                                        BatchView<const In>{b.first, b.count, b.stride}, c, call);
}

/// Products of a pointer-array batch. Different products must not write to one place.
template <class A, class B, class Out, class In = std::remove_const_t<A>>
  requires detail::Multipliable<A, B, Out>
[[nodiscard]] Status gemm(const PointerBatchView<A>& a, const PointerBatchView<B>& b, const PointerBatchView<Out>& c,
                          const std::type_identity_t<GemmCall<In, Out>>& call = {}) {
  return detail::gemm_operands<In, Out>(PointerBatchView<const In>{a.shape, a.count, a.pointers},
                                        PointerBatchView<const In>{b.shape, b.count, b.pointers}, c, call);
}

}  // namespace exactile
