// SPDX-License-Identifier: Apache-2.0
// Names of the small enumerations, and the arithmetic of error bounds that belongs to them.
#include <array>
#include <limits>

#include "exactile/backend.hpp"
#include "exactile/epilogue.hpp"
#include "exactile/error_bound.hpp"
#include "exactile/plan.hpp"

namespace exactile {

std::string_view to_string(Accuracy accuracy) noexcept {
  switch (accuracy) {
    case Accuracy::reduced: return "reduced";
    case Accuracy::standard: return "standard";
    case Accuracy::compensated: return "compensated";
    case Accuracy::correctly_rounded: return "correctly_rounded";
  }
  return "unknown";
}

std::optional<Accuracy> parse_accuracy(std::string_view name) noexcept {
  constexpr std::array all{Accuracy::reduced, Accuracy::standard, Accuracy::compensated, Accuracy::correctly_rounded};
  for (Accuracy accuracy : all)
    if (to_string(accuracy) == name) return accuracy;
  return std::nullopt;
}

std::string_view to_string(Planning planning) noexcept {
  switch (planning) {
    case Planning::formula: return "formula";
    case Planning::estimate: return "estimate";
    case Planning::measured: return "measured";
  }
  return "unknown";
}

std::optional<Planning> parse_planning(std::string_view name) noexcept {
  for (const Planning planning : {Planning::formula, Planning::estimate, Planning::measured})
    if (to_string(planning) == name) return planning;
  return std::nullopt;
}

double gamma(std::int64_t k, double u) noexcept {
  const double ku = static_cast<double>(k) * u;
  return ku < 1 ? ku / (1 - ku) : std::numeric_limits<double>::infinity();
}

double error_beyond_gamma(Accuracy accuracy, ElementType input) noexcept {
  if (accuracy != Accuracy::reduced) return 0;
  if (input == ElementType::f8e4m3 || input == ElementType::f8e5m2) return 17 * 0x1p-10;
  constexpr double v = 0x1p-10;
  return input == ElementType::f32 ? 2 * v + v * v : 0;
}

AprioriBound apriori_bound(Accuracy accuracy, GemmTypes types, std::int64_t k, int scales) noexcept {
  if (!is_floating(types.input)) return {};
  const double u = unit_roundoff(accumulator_type(types));
  const double of_output = unit_roundoff(types.output);
  // As src/verification/bound.hpp counts them.
  const double sums = gamma(is_complex(types.input) ? 2 * k + 4 : k + 3 + scales, u);
  if (accuracy == Accuracy::correctly_rounded) return {.of_result = of_output, .of_terms = 0};
  if (accuracy == Accuracy::compensated) return {.of_result = of_output, .of_terms = sums * sums};
  const double rounded = of_output > u ? of_output : 0;
  return {.of_result = rounded, .of_terms = (1 + rounded) * (sums + error_beyond_gamma(accuracy, types.input))};
}

std::string_view to_string(Backend backend) noexcept {
  switch (backend) {
    case Backend::automatic: return "automatic";
    case Backend::cpu: return "cpu";
    case Backend::cuda: return "cuda";
    case Backend::opencl: return "opencl";
  }
  return "unknown";
}

std::optional<Backend> parse_backend(std::string_view name) noexcept {
  if (name == "auto") return Backend::automatic;
  for (Backend backend : {Backend::automatic, Backend::cpu, Backend::cuda, Backend::opencl})
    if (to_string(backend) == name) return backend;
  return std::nullopt;
}

std::string_view to_string(Activation activation) noexcept {
  switch (activation) {
    case Activation::none: return "none";
    case Activation::relu: return "relu";
    case Activation::gelu: return "gelu";
  }
  return "unknown";
}

std::string_view to_string(Bias bias) noexcept {
  switch (bias) {
    case Bias::none: return "none";
    case Bias::per_row: return "per_row";
    case Bias::per_column: return "per_column";
  }
  return "unknown";
}

}  // namespace exactile
