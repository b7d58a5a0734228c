// SPDX-License-Identifier: Apache-2.0
/// \file The types of the write-ups' templates: int, half, float and double.
#pragma once

#include <array>

#include "cuda/tile/types.cuh"

namespace exactile::cuda {

inline constexpr std::array write_up_types{
    GemmTypes{ElementType::f32, ElementType::f32}, GemmTypes{ElementType::f64, ElementType::f64},
    GemmTypes{ElementType::f16, ElementType::f16}, GemmTypes{ElementType::f16, ElementType::f32},
    GemmTypes{ElementType::i32, ElementType::i32}};

/// Calls visitor.template operator()<In, Out>() with the device's types for one of write_up_types.
template <class Visitor>
decltype(auto) with_write_up_types(GemmTypes types, Visitor&& visitor) {
  switch (types.input) {
    case ElementType::f64: return visitor.template operator()<double, double>();
    case ElementType::f16:
      return types.output == ElementType::f32 ? visitor.template operator()<__half, float>()
                                              : visitor.template operator()<__half, __half>();
    case ElementType::i32: return visitor.template operator()<std::int32_t, std::int32_t>();
    default: return visitor.template operator()<float, float>();
  }
}

}  // namespace exactile::cuda
