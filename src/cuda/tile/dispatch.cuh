// SPDX-License-Identifier: Apache-2.0
/// \file From types as data to the device's types.
#pragma once

#include "core/type_dispatch.hpp"
#include "cuda/tile/types.cuh"

namespace exactile::cuda {

/// Calls visitor.template operator()<In, Out>() with the device's types for one of all_gemm_types().
template <class Visitor>
decltype(auto) with_types(GemmTypes types, Visitor&& visitor) {
  return core::with_gemm_types(types, [&]<class In, class Out>() {
    return visitor.template operator()<DeviceElement<element_type_v<In>>, DeviceElement<element_type_v<Out>>>();
  });
}

}  // namespace exactile::cuda
