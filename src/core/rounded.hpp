// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

namespace exactile::core {

/// x rounded to f32. Through memory: where GCC 12 makes a vector of two such numbers, it leaves both roundings out
/// (-O2).
[[nodiscard]] inline double rounded_to_f32(double x) noexcept {
  const volatile float rounded = static_cast<float>(x);
  return static_cast<double>(rounded);
}
[[nodiscard]] inline std::complex<double> rounded_to_f32(std::complex<double> z) noexcept {
  return {rounded_to_f32(z.real()), rounded_to_f32(z.imag())};
}

}  // namespace exactile::core
