// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a contender's result is right. A wrong product is not worth timing.
#pragma once

#include <string>

#include "rivals/contender.hpp"

namespace exactile::bench {

/// Empty where every element of C is a number and a sample of them lies within the bound of the plain loop,
/// gamma_k * |A||B|, of the long double result; else one sentence that names an element.
[[nodiscard]] std::string find_error(const Product& product, Operands operands);

}  // namespace exactile::bench
