// SPDX-License-Identifier: Apache-2.0
/// \file
/// For callers who have std::mdspan, Kokkos::mdspan or a class that looks like one: rank 2 is a matrix, rank 3 a batch.
///
///     exactile::Status status = exactile::gemm(exactile::interop::view(a), exactile::interop::view(b),
///                                              exactile::interop::view(c));
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "exactile/matrix_view.hpp"

namespace exactile::interop {

/// What is asked of such a class: a pointer to element (0, 0) and strides in elements. Accessors that compute elements
/// (scaled, conjugated, atomic) have no such pointer or another reference; they are refused.
template <class M>
concept StridedView = requires(const M& m) {
  typename M::element_type;
  { m.data_handle() } -> std::convertible_to<typename M::element_type*>;
  { m.extent(0) } -> std::convertible_to<std::int64_t>;
  { m.stride(0) } -> std::convertible_to<std::int64_t>;
}
&&std::is_same_v<typename M::reference, typename M::element_type&>;

/// The same storage; nothing is moved. A batch is counted by its first index.
template <StridedView M>
  requires(M::rank() == 2)
[[nodiscard]] constexpr MatrixView<typename M::element_type> view(const M& m) {
  return {m.data_handle(), static_cast<std::int64_t>(m.extent(0)), static_cast<std::int64_t>(m.extent(1)),
          static_cast<std::int64_t>(m.stride(0)), static_cast<std::int64_t>(m.stride(1))};
}
template <StridedView M>
  requires(M::rank() == 3)
[[nodiscard]] constexpr BatchView<typename M::element_type> view(const M& m) {
  return {{m.data_handle(), static_cast<std::int64_t>(m.extent(1)), static_cast<std::int64_t>(m.extent(2)),
           static_cast<std::int64_t>(m.stride(1)), static_cast<std::int64_t>(m.stride(2))},
          static_cast<std::int64_t>(m.extent(0)),
          static_cast<std::int64_t>(m.stride(0))};
}

}  // namespace exactile::interop
