// SPDX-License-Identifier: Apache-2.0
/// \file
/// MatrixView: a matrix that lives in somebody else's memory.
#pragma once

#include <cstdint>
#include <type_traits>

namespace exactile {

/// rows x columns elements; element (i, j) is data[i * row_stride + j * column_stride]. Strides count elements.
///
/// A view owns nothing and is free to copy. Operands A and B may have any strides, negative ones (data then points at
/// element (0, 0), not at the lowest address) and zero (broadcast) included; C's strides must be positive and give each
/// element a place of its own. A view of a temporary is the caller's mistake; views are not checked for lifetime.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  bool conjugate = false;  ///< products take the complex conjugate of each element: see conjugated()

  constexpr MatrixView() = default;
  /// Row-major and contiguous.
  constexpr MatrixView(T* data_, std::int64_t rows_, std::int64_t columns_)
      : MatrixView(data_, rows_, columns_, columns_, 1) {}
  constexpr MatrixView(T* data_, std::int64_t rows_, std::int64_t columns_, std::int64_t row_stride_,
                       std::int64_t column_stride_ = 1, bool conjugate_ = false)
      : data(data_),
        rows(rows_),
        columns(columns_),
        row_stride(row_stride_),
        column_stride(column_stride_),
        conjugate(conjugate_) {}

  /// A writable view is also a read-only one.
  constexpr operator MatrixView<const T>() const  // NOLINT(*-explicit-*)
      requires(!std::is_const_v<T>) {
    return {data, rows, columns, row_stride, column_stride, conjugate};
  }

  /// The element as it is stored, of a conjugated view too.
  [[nodiscard]] constexpr T& operator()(std::int64_t i, std::int64_t j) const {
    return data[i * row_stride + j * column_stride];
  }

  /// The same storage read the other way round; nothing is moved.
  [[nodiscard]] constexpr MatrixView transposed() const {
    return {data, columns, rows, column_stride, row_stride, conjugate};
  }

  /// The same storage, of which a product takes the complex conjugate (operands A and B only); twice is the matrix
  /// itself. Real and integer matrices are their own conjugates.
  [[nodiscard]] constexpr MatrixView conjugated() const {
    return {data, rows, columns, row_stride, column_stride, !conjugate};
  }
  [[nodiscard]] constexpr MatrixView conjugate_transposed() const { return conjugated().transposed(); }

  /// The block of `block_rows` x `block_columns` elements whose first element is (row, column): same storage, moved
  /// pointer, same strides. The block must lie within the view.
  [[nodiscard]] constexpr MatrixView submatrix(std::int64_t row, std::int64_t column, std::int64_t block_rows,
                                               std::int64_t block_columns) const {
    return {data + (row * row_stride + column * column_stride),
            block_rows,
            block_columns,
            row_stride,
            column_stride,
            conjugate};
  }
};

/// A contiguous column-major matrix, as Fortran and BLAS store it.
template <class T>
[[nodiscard]] constexpr MatrixView<T> column_major(T* data, std::int64_t rows, std::int64_t columns,
                                                   std::int64_t leading_dimension) {
  return {data, rows, columns, 1, leading_dimension};
}

/// `count` matrices of one shape: number p starts at first.data + p * stride. Stride 0 is one matrix used by every
/// product (A or B only); it is never copied.
template <class T>
struct BatchView {
  MatrixView<T> first;
  std::int64_t count = 0;
  std::int64_t stride = 0;
};

/// `count` matrices of one shape at places of their own: number p has `shape`'s extents and strides and starts at
/// pointers[p]; shape.data is not used. The same pointer may stand several times in A and B.
template <class T>
struct PointerBatchView {
  MatrixView<T> shape;
  std::int64_t count = 0;
  T* const* pointers = nullptr;
};

}  // namespace exactile
