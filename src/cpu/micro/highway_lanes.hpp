// SPDX-License-Identifier: Apache-2.0
/// \file Elements of every real type as lanes of the type that sums.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "cpu/micro/highway_widen.hpp"
#include "cpu/micro/vector_kernels.hpp"
#include "exactile/types.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// visit(0), ..., visit(count - 1), each with a constant: an array of registers that is indexed by a loop would be left
/// in memory where the loop is unrolled late.
template <int count, class Visit>
HWY_INLINE void unrolled(const Visit& visit) {
  [&]<int... index>(std::integer_sequence<int, index...>) __attribute__((always_inline)) {
    (visit(std::integral_constant<int, index>()), ...);
  }
  (std::make_integer_sequence<int, count>());
}

/// A vector's lanes from as many neighbours, or what `load` leaves of them. Exact.
template <class T, class Load = AllLanes>
HWY_INLINE auto load_lanes(const T* from, const Load& load = {}) {
  if constexpr (std::is_integral_v<T> && sizeof(T) < 4)
    return hn::PromoteTo(Lanes<std::int32_t>(), load(hn::Rebind<T, Lanes<std::int32_t>>(), from));
  else if constexpr (std::is_same_v<T, WideInt32>)
    return hn::PromoteTo(Lanes<std::int64_t>(), load(hn::Rebind<std::int32_t, Lanes<std::int64_t>>(),
                                                     reinterpret_cast<const std::int32_t*>(from)));
  else if constexpr (sizeof(T) < 4)
    return widen(Lanes<float>(), from, load);
  else
    return load(Lanes<T>(), from);
}

/// The first `count` lanes, and zeros. Nothing beyond is read.
template <class In>
HWY_INLINE auto load_some_lanes(const In* from, std::int64_t count) {
  return load_lanes(from, SomeLanes{count});
}

/// sum + a * b, of lanes that were an In each: fused in floating types, modulo 2^w in integers.
template <class In, class T = LaneOf<In>>
HWY_INLINE void add_product(Vector<T>& sum, Vector<T> a, Vector<T> b) {
  constexpr bool halves = std::is_same_v<In, WideInt32>;  // hold all there is of a and b
  const hn::Repartition<std::int32_t, Lanes<T>> narrow;
  if constexpr (std::is_floating_point_v<T>)
    multiply_add_into(sum, a, b);
  else if constexpr (halves)
    sum = hn::Add(sum, hn::MulEven(hn::BitCast(narrow, a), hn::BitCast(narrow, b)));
  else
    sum = hn::Add(sum, hn::Mul(a, b));
}

}  // namespace exactile::cpu::HWY_NAMESPACE
