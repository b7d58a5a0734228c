// SPDX-License-Identifier: Apache-2.0
/// \file
/// What cuBLAS and cuBLASLt have in common. Their headers are not needed: the few constants are part of their binary
/// interface.
#pragma once

#include <cstdint>
#include <optional>

#include "comparison/contender.hpp"

namespace exactile::comparison {

/// cudaDataType and cublasComputeType_t, as the libraries take them.
struct CublasTypes {
  int input;
  int output;
  int compute;
  int scale;  ///< the type of alpha and beta
};
/// Sums in f32, f64 or i32; f32 is cut to tf32 where `reduced` is asked for, else not rounded first; nothing where the
/// library multiplies no such pair.
[[nodiscard]] std::optional<CublasTypes> cublas_types(const Product& product);

/// alpha = 1 and beta = 0 in the type of the scalars.
class CublasScalars {
 public:
  explicit CublasScalars(const CublasTypes& types);
  [[nodiscard]] const void* one() const { return one_; }
  [[nodiscard]] const void* zero() const { return zero_; }

 private:
  std::uint64_t one_[2] = {};  ///< room for a complex number, whose imaginary part is 0
  std::uint64_t zero_[2] = {};
};

/// The libraries' matrices are column-major, so they are asked for C^T = B^T A^T: B is their first operand.
struct CublasShape {
  int m, n, k;
  bool transposes_first, transposes_second;
  std::int64_t first_leading, second_leading, c_leading;
  std::int64_t first_distance, second_distance, c_distance;  ///< from one product of a batch to the next
  int batch;
};
/// Nothing where sizes do not fit the call or rows have gaps between neighbours.
[[nodiscard]] std::optional<CublasShape> cublas_shape(const Product& product);

}  // namespace exactile::comparison
