// SPDX-License-Identifier: Apache-2.0
/// \file The one place where element types as data become element types of the language.
#pragma once

#include <complex>
#include <cstdint>

#include "exactile/types.hpp"

namespace exactile::core {

/// Calls visitor.template operator()<In, Out>() for those of all_gemm_types() that devices have, too: A and B are of
/// type In.
template <class Visitor>
decltype(auto) with_gemm_types(GemmTypes types, Visitor&& visitor) {
  using enum ElementType;
  const bool to_f32 = types.output == f32;
  switch (types.input) {
    case f64: return visitor.template operator()<double, double>();
    case f16:
      return to_f32 ? visitor.template operator()<Float16, float>() : visitor.template operator()<Float16, Float16>();
    case bf16:
      return to_f32 ? visitor.template operator()<BFloat16, float>()
                    : visitor.template operator()<BFloat16, BFloat16>();
    case f8e4m3:
      return to_f32 ? visitor.template operator()<Float8E4M3, float>()
                    : visitor.template operator()<Float8E4M3, BFloat16>();
    case f8e5m2:
      return to_f32 ? visitor.template operator()<Float8E5M2, float>()
                    : visitor.template operator()<Float8E5M2, BFloat16>();
    case i64: return visitor.template operator()<std::int64_t, std::int64_t>();
    case i32: return visitor.template operator()<std::int32_t, std::int32_t>();
    case i8: return visitor.template operator()<std::int8_t, std::int32_t>();
    case cf64: return visitor.template operator()<std::complex<double>, std::complex<double>>();
    case cf32: return visitor.template operator()<std::complex<float>, std::complex<float>>();
    case f32:
    case u8:
    case i16: break;
  }
  return visitor.template operator()<float, float>();
}

/// Calls visitor.template operator()<A, B, C>(), the types of the operands, for one of all_gemm_types().
template <class Visitor>
decltype(auto) with_operand_types(GemmTypes types, Visitor&& visitor) {
  using enum ElementType;
  const bool b_has_sign = types.input_b == i8;
  switch (types.input) {
    case u8:
      return b_has_sign ? visitor.template operator()<std::uint8_t, std::int8_t, std::int32_t>()
                        : visitor.template operator()<std::uint8_t, std::uint8_t, std::int32_t>();
    case i8:
      return b_has_sign ? visitor.template operator()<std::int8_t, std::int8_t, std::int32_t>()
                        : visitor.template operator()<std::int8_t, std::uint8_t, std::int32_t>();
    case i16: return visitor.template operator()<std::int16_t, std::int16_t, std::int32_t>();
    case i32:
      if (types.output == i64) return visitor.template operator()<std::int32_t, std::int32_t, std::int64_t>();
      break;
    default: break;
  }
  return with_gemm_types(types, [&]<class In, class Out>() { return visitor.template operator()<In, In, Out>(); });
}

}  // namespace exactile::core
