// SPDX-License-Identifier: Apache-2.0
/// \file The one place where element types as data become element types of the language.
#pragma once

#include <complex>
#include <cstdint>

#include "exactile/types.hpp"

namespace exactile::core {

/// Calls visitor.template operator()<In, Out>() for one of all_gemm_types().
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
    case f32: break;
  }
  return visitor.template operator()<float, float>();
}

}  // namespace exactile::core
