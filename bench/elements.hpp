// SPDX-License-Identifier: Apache-2.0
/// \file The types of a comparison's elements.
#pragma once

#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "exactile/types.hpp"

namespace exactile::bench {

/// Calls visitor.template operator()<T>() with the type of an element.
template <class Visitor>
decltype(auto) with_element(ElementType type, Visitor&& visitor) {
  switch (type) {
    case ElementType::f64: return visitor.template operator()<double>();
    case ElementType::f32: return visitor.template operator()<float>();
    case ElementType::f16: return visitor.template operator()<Float16>();
    case ElementType::bf16: return visitor.template operator()<BFloat16>();
    case ElementType::f8e4m3: return visitor.template operator()<Float8E4M3>();
    case ElementType::f8e5m2: return visitor.template operator()<Float8E5M2>();
    case ElementType::i64: return visitor.template operator()<std::int64_t>();
    case ElementType::i32: return visitor.template operator()<std::int32_t>();
    case ElementType::i8: return visitor.template operator()<std::int8_t>();
    case ElementType::cf64: return visitor.template operator()<std::complex<double>>();
    case ElementType::cf32: return visitor.template operator()<std::complex<float>>();
  }
  throw std::runtime_error("type " + std::string(to_string(type)) + ": is not compared");
}

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<std::complex<T>> = true;

}  // namespace exactile::bench
