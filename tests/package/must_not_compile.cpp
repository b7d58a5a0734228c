// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls the compiler must refuse, one for each value of EXACTILE_CASE; without it, the same file compiles.
#include "exactile/exactile.hpp"
#if EXACTILE_CASE == 6
#include "exactile/interop/opencl.hpp"
#endif

using exactile::MatrixView;

[[maybe_unused]] static void calls() {
  float data[4] = {};
  double wide[4] = {};
  const MatrixView<float> matrix(data, 2, 2);
  const MatrixView<const float> read_only = matrix;
  [[maybe_unused]] const MatrixView<double> other(wide, 2, 2);
#if !defined(EXACTILE_CASE)
  if (!exactile::gemm(read_only, matrix, matrix, {.alpha = 2, .beta = 1}).ok()) return;
#elif EXACTILE_CASE == 1  // C is read-only
  if (!exactile::gemm(matrix, matrix, read_only).ok()) return;
#elif EXACTILE_CASE == 2  // A and B have different element types
  if (!exactile::gemm(matrix, other, matrix).ok()) return;
#elif EXACTILE_CASE == 3  // the Status is dropped
  exactile::gemm(matrix, matrix, matrix);
#elif EXACTILE_CASE == 4  // no such element type
  long double odd[4] = {};
  const MatrixView<long double> unknown(odd, 2, 2);
  if (!exactile::gemm(unknown, unknown, unknown).ok()) return;
#elif EXACTILE_CASE == 5  // a read-only view does not become writable
  const MatrixView<float> writable = read_only;
  static_cast<void>(writable);
#elif EXACTILE_CASE == 6  // a buffer is no BufferSpan
  const cl_mem buffer = nullptr;
  const exactile::opencl::BufferArguments arguments{.a = buffer};
  static_cast<void>(arguments);
#endif
}
