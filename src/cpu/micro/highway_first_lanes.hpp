// SPDX-License-Identifier: Apache-2.0
/// \file
/// The first lanes of a vector in memory: neither load_first() nor store_first() touches any other. Masks of the
/// processor where it has some: where it has none, what Highway 1.0 calls masked reads and writes all lanes.
#pragma once

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

namespace exactile::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// By halves, where no mask keeps a load from the other lanes, which are zero.
template <class D>
HWY_INLINE hn::Vec<D> load_halves(D d, std::size_t count, const hn::TFromD<D>* from) {
  constexpr std::size_t lanes = hn::MaxLanes(D());
  if (count >= lanes) return hn::LoadU(d, from);
  if constexpr (lanes == 1) {
    return hn::Zero(d);
  } else {
    const hn::Half<D> half;
    if (count <= lanes / 2) return hn::ZeroExtendVector(d, load_halves(half, count, from));
    const auto upper = load_halves(half, count - lanes / 2, from + lanes / 2);
    return hn::Combine(d, upper, hn::LoadU(half, from));
  }
}

#if HWY_TARGET == HWY_NEON

template <class D>
struct FirstLanes {
  std::size_t count;
};

template <class D>
HWY_INLINE FirstLanes<D> first_lanes(D, std::size_t count) {
  return {count};
}

template <bool Asks = true, class D>
HWY_INLINE hn::Vec<D> load_first(FirstLanes<D> first, D d, const hn::TFromD<D>* from) {
  return load_halves(d, first.count, from);
}

template <class D>
HWY_INLINE void store_first(hn::Vec<D> value, FirstLanes<D> first, D d, hn::TFromD<D>* to) {
  constexpr std::size_t lanes = hn::MaxLanes(D());
  if (first.count >= lanes) {
    hn::StoreU(value, d, to);
  } else if constexpr (lanes > 1) {
    const hn::Half<D> half;
    const auto lower = hn::LowerHalf(half, value);
    if (first.count <= lanes / 2) {
      store_first(lower, first_lanes(half, first.count), half, to);
      return;
    }
    hn::StoreU(lower, half, to);
    store_first(hn::UpperHalf(half, value), first_lanes(half, first.count - lanes / 2), half, to + lanes / 2);
  }
}

#else

template <class D>
using FirstLanes = hn::Mask<D>;

template <class D>
HWY_INLINE FirstLanes<D> first_lanes(D d, std::size_t count) {
  return hn::FirstN(d, count);
}

/// The other lanes are zero. AVX2 has masks for 32 and 64 bits. The prefetchers of AMD's processors do not look at what
/// has a mask, which halves the rate of memory: it is asked for as well, unless loads beside it have none.
template <bool Asks = true, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(hn::Mask<D> first, D d, const T* from) {
  static_assert(sizeof(T) >= 4 || HWY_TARGET <= HWY_AVX3, "see SomeLanes");
  if constexpr (Asks) __builtin_prefetch(from);
  return hn::MaskedLoad(first, d, from);
}

template <class D>
HWY_INLINE void store_first(hn::Vec<D> value, hn::Mask<D> first, D d, hn::TFromD<D>* to) {
  __builtin_prefetch(to, 1);
  hn::BlendedStore(value, first, d, to);
}

#endif

/// How much of a vector is read from memory: all, or the first lanes, and zeros.
struct AllLanes {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const hn::TFromD<D>* from) const {
    return hn::LoadU(d, from);
  }
};
struct SomeLanes {
  std::int64_t count;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const hn::TFromD<D>* from) const {
    if constexpr (sizeof(hn::TFromD<D>) < 4 && HWY_TARGET > HWY_AVX3)
      return load_halves(d, static_cast<std::size_t>(count), from);
    else
      return load_first(first_lanes(d, static_cast<std::size_t>(count)), d, from);
  }
};

}  // namespace exactile::cpu::HWY_NAMESPACE
