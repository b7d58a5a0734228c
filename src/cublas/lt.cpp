// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmul: D <- activation(alpha op(A) op(B) + beta C + bias), as descriptors say.
#include <cublasLt.h>

#include "cublas/multiply.hpp"
#include "cublas/next.hpp"
#include "cublas/settings.hpp"
#include "cublas/workspace.hpp"

namespace exactile::cublas {
namespace {

/// The attribute's value; `otherwise` where this cuBLAS knows no such attribute, and hence has the default.
template <class T>
T attribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t which, T otherwise) {
  static constinit NextRoutine get("cublasLtMatmulDescGetAttribute");
  T value{};
  std::size_t written = 0;
  const auto status =
      get(operation, which, static_cast<void*>(&value), sizeof value, static_cast<std::size_t*>(&written));
  return status == CUBLAS_STATUS_SUCCESS && written == sizeof value ? value : otherwise;
}
template <class T>
T attribute(cublasLtMatrixLayout_t matrix, cublasLtMatrixLayoutAttribute_t which, T otherwise) {
  static constinit NextRoutine get("cublasLtMatrixLayoutGetAttribute");
  T value{};
  std::size_t written = 0;
  const auto status = get(matrix, which, static_cast<void*>(&value), sizeof value, static_cast<std::size_t*>(&written));
  return status == CUBLAS_STATUS_SUCCESS && written == sizeof value ? value : otherwise;
}

struct Matrix {
  bool is_f32;  ///< and strided
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t count;
  OperandLayout layout;
};

Matrix read(cublasLtMatrixLayout_t matrix) {
  const auto order = attribute<std::int32_t>(matrix, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL);
  const auto leading = attribute<std::int64_t>(matrix, CUBLASLT_MATRIX_LAYOUT_LD, 0);
  const auto count = attribute<std::int32_t>(matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1);
  const auto step = attribute<std::int64_t>(matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
  return {.is_f32 = attribute<std::uint32_t>(matrix, CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_64F) == CUDA_R_32F &&
                    (order == CUBLASLT_ORDER_COL || order == CUBLASLT_ORDER_ROW) && leading > 0 &&
                    attribute<std::int64_t>(matrix, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 0) == 0 &&
                    attribute<std::uint32_t>(matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, 0) == 0,
          .rows = static_cast<std::int64_t>(attribute<std::uint64_t>(matrix, CUBLASLT_MATRIX_LAYOUT_ROWS, 0)),
          .columns = static_cast<std::int64_t>(attribute<std::uint64_t>(matrix, CUBLASLT_MATRIX_LAYOUT_COLS, 0)),
          .count = count,
          .layout = {.row_stride = order == CUBLASLT_ORDER_ROW ? leading : 1,
                     .column_stride = order == CUBLASLT_ORDER_ROW ? 1 : leading,
                     .batch_stride = count == 1 ? 0 : step}};
}

/// op(matrix).
Matrix read(cublasLtMatrixLayout_t matrix, std::int32_t operation) {
  Matrix read_matrix = read(matrix);
  if (operation == CUBLAS_OP_N) return read_matrix;
  std::swap(read_matrix.rows, read_matrix.columns);
  std::swap(read_matrix.layout.row_stride, read_matrix.layout.column_stride);
  return read_matrix;
}

/// A call as it came, apart from its algorithm and workspace, which are cuBLAS's matter.
struct Call {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t operation;
  const void* alpha;
  const void* a;
  cublasLtMatrixLayout_t a_layout;
  const void* b;
  cublasLtMatrixLayout_t b_layout;
  const void* beta;
  const void* c;
  cublasLtMatrixLayout_t c_layout;
  void* d;
  cublasLtMatrixLayout_t d_layout;
  cudaStream_t stream;
};

bool is_complete(const Call& call) {
  for (const void* pointer :
       {static_cast<const void*>(call.handle), static_cast<const void*>(call.operation), call.alpha, call.a,
        static_cast<const void*>(call.a_layout), call.b, static_cast<const void*>(call.b_layout), call.beta,
        static_cast<const void*>(call.c_layout), static_cast<const void*>(call.d),
        static_cast<const void*>(call.d_layout)})
    if (pointer == nullptr) return false;
  return true;
}

/// Computed in f32 with factors of f32 in host memory, on all SMs, and with nothing of what only narrow types have.
bool is_plain(cublasLtMatmulDesc_t operation) {
  const auto is = [&](cublasLtMatmulDescAttributes_t which, std::int32_t value) {
    return attribute<std::int32_t>(operation, which, value) == value;
  };
  for (const auto pointer : {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                             CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
                             CUBLASLT_MATMUL_DESC_AMAX_D_POINTER})
    if (attribute<const void*>(operation, pointer, nullptr) != nullptr) return false;
  // Every version has these; of the others one that cannot be read is one that is not set.
  const auto is_read_as = [&](cublasLtMatmulDescAttributes_t which, std::int32_t value) {
    return attribute<std::int32_t>(operation, which, -1) == value;
  };
  return is_read_as(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F) &&
         is_read_as(CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUDA_R_32F) &&
         is_read_as(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_HOST) &&
         is(CUBLASLT_MATMUL_DESC_TRANSC, CUBLAS_OP_N) && is(CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLAS_FILL_MODE_FULL) &&
         is(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 0);
}

/// False for epilogues that are not ours: cuBLAS's gelu is the tanh formula, the library's the exact function.
bool take_epilogue(cublasLtMatmulDesc_t operation, Product& product) {
  GemmDescription& d = product.description;
  const auto epilogue = attribute<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT: return true;
    case CUBLASLT_EPILOGUE_RELU: d.activation = Activation::relu; return true;
    case CUBLASLT_EPILOGUE_RELU_BIAS: d.activation = Activation::relu; break;
    case CUBLASLT_EPILOGUE_BIAS: break;
    default: return false;
  }
  d.bias = Bias::per_row;
  product.arguments.bias = attribute<const void*>(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  const auto type = attribute<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, -1);
  return product.arguments.bias != nullptr && (type == -1 || type == CUDA_R_32F) &&
         attribute<std::int64_t>(operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 0) == 0;
}

/// Null where the product is told by `product`, else why it is cuBLAS's.
const char* describe(const Call& call, Product& product) {
  if (!is_complete(call)) return "an argument is missing";
  if (!is_plain(call.operation)) return "not computed in f32, or with factors in device memory";
  if (!take_epilogue(call.operation, product)) return "another epilogue";
  const auto operation = [&](cublasLtMatmulDescAttributes_t which) {
    return attribute<std::int32_t>(call.operation, which, CUBLAS_OP_N);
  };
  const Matrix a = read(call.a_layout, operation(CUBLASLT_MATMUL_DESC_TRANSA));
  const Matrix b = read(call.b_layout, operation(CUBLASLT_MATMUL_DESC_TRANSB));
  const Matrix c = read(call.c_layout);
  const Matrix d = read(call.d_layout);
  if (!a.is_f32 || !b.is_f32 || !c.is_f32 || !d.is_f32) return "other types or orders";
  const bool fit = a.rows == d.rows && b.columns == d.columns && a.columns == b.rows && c.rows == d.rows &&
                   c.columns == d.columns && a.count == d.count && b.count == d.count && c.count == d.count;
  if (!fit || d.rows <= 0 || d.columns <= 0 || a.columns <= 0 || d.count <= 0) return "sizes are cuBLAS's to judge";
  GemmDescription& description = product.description;
  description.types = {ElementType::f32, ElementType::f32};
  description.m = d.rows;
  description.n = d.columns;
  description.k = a.columns;
  description.a = a.layout;
  description.b = b.layout;
  description.c = d.layout;
  description.batch_count = d.count;
  GemmArguments& arguments = product.arguments;
  arguments.a = call.a;
  arguments.b = call.b;
  arguments.c = call.d;
  arguments.alpha = *static_cast<const float*>(call.alpha);
  arguments.beta = *static_cast<const float*>(call.beta);
  if (arguments.beta.is_zero() || (call.c == call.d && c.layout == d.layout)) return nullptr;
  if (call.c == nullptr) return "an argument is missing";
  description.c = c.layout;
  description.d = d.layout;
  arguments.c = const_cast<void*>(call.c);  // only read where there is a D
  arguments.d = call.d;
  return nullptr;
}

}  // namespace
}  // namespace exactile::cublas

extern "C" {

EXACTILE_EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
                                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  using namespace exactile::cublas;
  static constinit NextRoutine next("cublasLtMatmul");
  if (is_on) {
    Product product{
        .routine = "cublasLtMatmul", .handle = handle, .stream = stream, .description = {}, .arguments = {}};
    const char* const reason =
        describe({handle, operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, stream}, product);
    if (reason != nullptr)
      say_forwarded(product.routine, reason);
    else if (const auto status = multiply(product))
      return *status;
  }
  return next(handle, operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algorithm, workspace,
              workspace_bytes, stream);
}

EXACTILE_EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  static constinit exactile::cublas::NextRoutine next("cublasLtDestroy");
  exactile::cublas::forget(handle);
  return next(handle);
}

}  // extern "C"
