// SPDX-License-Identifier: Apache-2.0
/// \file Quantities as a person reads them: three significant digits and a unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace exactile::program {

[[nodiscard]] std::string seconds_text(double seconds);   ///< "1.23 ms"
[[nodiscard]] std::string bytes_text(double bytes);       ///< "67.1 MB"
[[nodiscard]] std::string number_text(double value);      ///< "12.3", "1230"; three significant digits at least
[[nodiscard]] std::string error_text(double value);       ///< "3.1e-07", "0"
[[nodiscard]] std::string percent_text(double fraction);  ///< "93.1 %"
/// "(4096, 4096)", as NumPy prints it.
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

/// a * b, or a Failure (bad usage) that names both: "m * n = 4294967296 * 4294967296 does not fit in 64 bits".
[[nodiscard]] std::int64_t product_of_sizes(std::int64_t a, std::int64_t b, const char* what);

}  // namespace exactile::program
