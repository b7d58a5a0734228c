// SPDX-License-Identifier: Apache-2.0
#include "scalar_option.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "failure.hpp"

namespace exactile::program {
namespace {

/// from_chars does not take the plus sign that people write.
std::string_view without_plus(std::string_view text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

template <class T>
std::optional<T> whole_number(std::string_view text) {
  text = without_plus(text);
  T value = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::complex<double>> complex_number(std::string_view text) {
  if (const std::size_t comma = text.find(','); comma != std::string_view::npos) {
    const auto real = whole_number<double>(text.substr(0, comma));
    const auto imaginary = whole_number<double>(text.substr(comma + 1));
    if (!real || !imaginary) return std::nullopt;
    return std::complex<double>(*real, *imaginary);
  }
  if (text.empty() || (text.back() != 'j' && text.back() != 'i')) return std::nullopt;
  text.remove_suffix(1);
  // The sign between the parts is the last one that does not belong to an exponent and is not the first character.
  std::size_t sign = text.size();
  while (sign-- > 1)
    if ((text[sign] == '+' || text[sign] == '-') && text[sign - 1] != 'e' && text[sign - 1] != 'E') break;
  const bool both = sign >= 1 && sign < text.size();
  const auto real = both ? whole_number<double>(text.substr(0, sign)) : std::optional<double>(0);
  const auto imaginary = whole_number<double>(both ? text.substr(sign) : text);
  if (!real || !imaginary) return std::nullopt;
  return std::complex<double>(*real, *imaginary);
}

/// The float nearest to it is neither infinite nor zero, unless it is so itself. The largest and the smallest float are
/// printed as numbers a little outside their range (3.4028235e38, 1e-45).
bool fits_float(double value) {
  const auto nearest = static_cast<float>(value);
  return std::isinf(nearest) == std::isinf(value) && (nearest == 0) == (value == 0);
}

}  // namespace

Scalar ScalarOption::value(GemmTypes types) const {
  const ElementType type = accumulator_type(types);
  const bool in_float = type == ElementType::f32 || type == ElementType::cf32;
  const auto require_number = [&](bool is_one) {
    if (!is_one)
      fail(Exit::bad_usage, "{} {}: is not a number that {} holds; expected one such as 2, -0.5, 1e-3 or 1+2j", name,
           text, in_float ? "f32" : "f64");
  };
  if (const auto integer = whole_number<std::int64_t>(text)) return {*integer};
  if (const auto real = whole_number<double>(text)) {
    const Scalar scalar(*real);
    require_number(!in_float || fits_float(*real));
    if (!is_floating(types.input) && !scalar.is_integral())
      fail(Exit::bad_usage, "{} {}: a product of {} takes a whole number below 2^63", name, text, to_string(types));
    return scalar;
  }
  const auto complex = complex_number(text);
  require_number(complex && (!in_float || (fits_float(complex->real()) && fits_float(complex->imag()))));
  if (!is_complex(types.input))
    fail(Exit::bad_usage, "{} {}: is complex; a product of {} takes a real number", name, text, to_string(types));
  return {*complex};
}

}  // namespace exactile::program
