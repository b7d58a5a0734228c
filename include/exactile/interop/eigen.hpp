// SPDX-License-Identifier: Apache-2.0
/// \file
/// For callers who have Eigen's matrices, maps, references, blocks or their transposes; Eigen itself is theirs to
/// include.
///
///     Eigen::MatrixXf a(m, k), b(k, n), c(m, n);
///     exactile::Status status = exactile::gemm(exactile::interop::view(a), exactile::interop::view(b.transpose()),
///                                              exactile::interop::view(c));
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "exactile/matrix_view.hpp"

namespace exactile::interop {

/// What Eigen's expressions with direct access have. Those that compute elements (sums, products, adjoint() of complex
/// matrices, for which the view has conjugated()) have no data() and are refused.
template <class M>
concept EigenMatrix = requires(M& m) {
  typename std::remove_const_t<M>::PlainObject;
  *m.data();
  { m.rows() } -> std::convertible_to<std::int64_t>;
  { m.cols() } -> std::convertible_to<std::int64_t>;
  { m.rowStride() } -> std::convertible_to<std::int64_t>;
  { m.colStride() } -> std::convertible_to<std::int64_t>;
};

/// The same storage; nothing is moved. It can be written where the matrix can. A temporary matrix, whose storage would
/// be gone, is refused; a temporary map, block or transpose is not.
template <class M>
  requires(EigenMatrix<std::remove_reference_t<M>> &&
           (std::is_lvalue_reference_v<M> ||
            !std::is_same_v<std::remove_cvref_t<M>, typename std::remove_cvref_t<M>::PlainObject>))
[[nodiscard]] constexpr auto view(M&& m) {
  using Element = std::remove_reference_t<decltype(*m.data())>;
  return MatrixView<Element>(m.data(), static_cast<std::int64_t>(m.rows()), static_cast<std::int64_t>(m.cols()),
                             static_cast<std::int64_t>(m.rowStride()), static_cast<std::int64_t>(m.colStride()));
}

}  // namespace exactile::interop
