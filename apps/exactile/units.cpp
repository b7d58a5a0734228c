// SPDX-License-Identifier: Apache-2.0
#include "units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

#include "failure.hpp"

namespace exactile::program {
namespace {

struct Unit {
  double size;
  const char* name;
};

std::string scaled(double value, const auto& units) {
  for (const Unit& unit : units)
    if (std::abs(value) >= unit.size * 0.9995) return fmt::format("{} {}", number_text(value / unit.size), unit.name);
  return fmt::format("{} {}", number_text(value / units.back().size), units.back().name);
}

}  // namespace

std::string seconds_text(double seconds) {
  static constexpr std::array<Unit, 5> units = {{{3600, "h"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  return scaled(seconds, units);
}

std::string bytes_text(double bytes) {
  static constexpr std::array<Unit, 5> units = {{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return scaled(bytes, units);
}

std::string number_text(double value) {
  const double magnitude = std::abs(value);
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (magnitude == 0) return "0";
  if (magnitude < 0.01 || magnitude >= 1e7) return fmt::format("{:.2e}", value);
  if (magnitude < 0.995) return fmt::format("{:.3f}", value);
  if (magnitude < 9.995) return fmt::format("{:.2f}", value);
  if (magnitude < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

std::string error_text(double value) { return value == 0 ? "0" : fmt::format("{:.1e}", value); }

std::string percent_text(double fraction) { return fmt::format("{} %", number_text(fraction * 100)); }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::int64_t product_of_sizes(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    fail(Exit::bad_usage, "{} = {} * {} does not fit in 64 bits; expected sizes whose products are below 2^63", what, a,
         b);
  return product;
}

}  // namespace exactile::program
