// SPDX-License-Identifier: Apache-2.0
/// \file
/// A complex product as a real one of twice the columns and twice the terms. Rows of complex numbers are rows of twice
/// as many real ones: so A (m x 2k) and C (m x 2n) can stay where they are. B becomes 2k x 2n numbers, four for each
/// element, rows 2k and 2k + 1 and columns 2n and 2n + 1 of
///
///     [  Re B   Im B ]    conj(B) changes the sign of Im B,
///     [ -Im B   Re B ]    conj(A) that of the lower row
#pragma once

#include <string_view>

#include "cuda/kernel.hpp"
#include "cuda/tile/transposed_copy.hpp"

namespace exactile::cuda::complex_family {

/// Who makes four numbers of one.
enum class Expansion : std::uint8_t {
  before,     ///< a pass, in the workspace
  in_kernel,  ///< the real kernel, which takes B as it is, if its rows are contiguous and TMA reaches them
};

struct RealForm {
  /// Of a product that why_too_large() finds countable, or of C^T = B^T A^T.
  RealForm(const GemmDescription& description, Expansion expansion, bool is_transposed);

  bool is_transposed;
  GemmDescription d;        ///< the complex product, or the transposed one
  bool expands;             ///< in the workspace
  bool copies_a;            ///< the terms of A are not contiguous, or not in that order
  bool copies_b;            ///< the real kernel expands B, but not as it lies
  bool reaches_c;           ///< the real product can be written to C itself, where alpha and beta are real
  std::int64_t pitch;       ///< of rows of the expanded B and of sums, in complex elements
  GemmDescription to_c;     ///< the real product, if `reaches_c`
  GemmDescription to_sums;  ///< the real product whose C are sums in the workspace

  [[nodiscard]] const GemmDescription& usual() const { return reaches_c ? to_c : to_sums; }
  /// A with its terms contiguous, B with its rows.
  [[nodiscard]] TransposedCopy copy_of_a() const;
  [[nodiscard]] TransposedCopy copy_of_b() const;

  // Bytes, and those that a pass over them moves.
  [[nodiscard]] std::int64_t b_bytes() const;  ///< expanded or copied
  [[nodiscard]] std::int64_t a_bytes() const;  ///< copied
  [[nodiscard]] std::int64_t sums_bytes() const;
  /// What passes over A, B and sums ask of the device.
  [[nodiscard]] Demand passes() const;
};

/// Whether C^T = B^T A^T is computed: where C has its columns contiguous; of at most 8 rows or columns, where passes
/// beside a kernel that expands B itself move fewer bytes so.
[[nodiscard]] bool is_transposed_for(const GemmDescription& description, Expansion expansion);

[[nodiscard]] std::string_view why_too_large(const GemmDescription& description, Expansion expansion,
                                             const Device& device);

/// Enqueues the expansion of every B of the batch by a pass.
[[nodiscard]] Status expand(const RealForm& form, const void* b, void* expanded, cudaStream_t stream);

}  // namespace exactile::cuda::complex_family
