// SPDX-License-Identifier: Apache-2.0
/// \file The products of each type: a file of its own for some types, so that they are compiled side by side.
#pragma once

#include <memory>

#include "cuda/kernel.hpp"

namespace exactile::cuda::gemv_family {

using Make = std::unique_ptr<DeviceProduct>(const GemmDescription&, const Device&, const Configuration&);
Make make_real;     ///< f32, f64
Make make_complex;  ///< cf32, cf64
Make make_integer;  ///< i8, i32, i64
Make make_bf16;
Make make_f16;
Make make_f8;

}  // namespace exactile::cuda::gemv_family
