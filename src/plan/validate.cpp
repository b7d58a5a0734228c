// SPDX-License-Identifier: Apache-2.0
#include "plan/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/checked.hpp"
#include "tuning/table/parameters.hpp"

namespace exactile::plan {
namespace {

using core::checked_add;
using core::checked_multiply;

Status invalid(std::string message) { return {StatusCode::invalid_argument, std::move(message)}; }

Status check_types(GemmTypes types) {
  const auto all = all_gemm_types();
  if (std::ranges::find(all, types) != all.end()) return {};
  std::vector<std::string> names;
  for (GemmTypes t : all) names.push_back(to_string(t));
  return {StatusCode::unsupported,
          fmt::format("types = {}: no such product; expected one of: {}", to_string(types), fmt::join(names, ", "))};
}

Status check_sizes(const GemmDescription& d) {
  const std::array<std::pair<const char*, std::int64_t>, 4> sizes{
      {{"m", d.m}, {"n", d.n}, {"k", d.k}, {"batch_count", d.batch_count}}};
  for (const auto& [name, value] : sizes)
    if (value < 0) return invalid(fmt::format("{} = {}: expected a size of 0 or more", name, value));
  return {};
}

struct Reach {
  const char* name;
  const OperandLayout& layout;
  std::int64_t rows;
  std::int64_t columns;
  ElementType type;
};

/// The furthest element in both directions must be addressable in bytes by a signed 64-bit number.
Status check_reach(const Reach& r, std::int64_t batch_count) {
  const std::array<std::pair<std::int64_t, std::int64_t>, 3> axes{
      {{r.rows, r.layout.row_stride},
       {r.columns, r.layout.column_stride},
       {r.layout.pointer_array ? 1 : batch_count, r.layout.batch_stride}}};
  std::optional<std::int64_t> reach = 0;
  for (const auto& [extent, stride] : axes) {
    if (extent <= 1) continue;
    auto step = stride == INT64_MIN ? std::nullopt : checked_multiply(extent - 1, stride < 0 ? -stride : stride);
    reach = step && reach ? checked_add(*reach, *step) : std::nullopt;
  }
  if (reach) reach = checked_add(*reach, 1);
  if (reach) reach = checked_multiply(*reach, size_in_bytes(r.type));
  if (reach) return {};
  return invalid(
      fmt::format("{} is {} x {} with strides ({}, {}) and batch stride {}: its last element lies more than "
                  "2^63 bytes away; expected sizes whose products fit in 64 bits",
                  r.name, r.rows, r.columns, r.layout.row_stride, r.layout.column_stride, r.layout.batch_stride));
}

Status check_products(const GemmDescription& d) {
  // k bounds no memory where A and B broadcast, but m*n*k is what a caller means by the size of the product.
  const auto elements = checked_multiply(d.m, d.n);
  const auto all = elements ? checked_multiply(*elements, std::max<std::int64_t>(d.batch_count, 1)) : std::nullopt;
  if (!all || !checked_multiply(*all, size_in_bytes(d.types.output)))
    return invalid(fmt::format("m = {}, n = {}, batch_count = {}: the size of C in bytes does not fit in 64 bits", d.m,
                               d.n, d.batch_count));
  return {};
}

/// The matrix that is written: D where there is one.
struct Output {
  const char* name;
  const OperandLayout& layout;
};
Output output_of(const GemmDescription& d) { return d.d ? Output{"d", *d.d} : Output{"c", d.c}; }

/// The output's elements must not share a place. Sorted by stride, each axis must step over all that the shorter ones
/// span.
Status check_c_strides(const GemmDescription& d) {
  if (d.m == 0 || d.n == 0 || d.batch_count == 0) return {};  // no element, no place to share
  struct Axis {
    const char* name;
    std::int64_t extent;
    std::int64_t stride;
  };
  const auto& [who, layout] = output_of(d);
  std::array<Axis, 3> axes{{{"row", d.m, layout.row_stride},
                            {"column", d.n, layout.column_stride},
                            {"batch", layout.pointer_array ? 1 : d.batch_count, layout.batch_stride}}};
  for (const Axis& axis : axes)
    if (axis.extent > 1 && axis.stride <= 0)
      return invalid(
          fmt::format("{}'s {} stride = {}: expected a positive stride, because every element that is written needs a "
                      "place of its own",
                      who, axis.name, axis.stride));
  std::ranges::sort(axes, {}, &Axis::stride);
  std::int64_t span = 0;
  for (const Axis& axis : axes) {
    if (axis.extent <= 1) continue;
    if (axis.stride <= span)
      return invalid(fmt::format("{}'s {} stride = {}: elements of {} would overlap; expected at least {}", who,
                                 axis.name, axis.stride, who, span + 1));
    span += (axis.extent - 1) * axis.stride;
  }
  return {};
}

/// A binding may hand over any number.
template <class Enum>
Status check_value(const char* name, Enum value, Enum last, const char* expected) {
  if (value <= last) return {};
  return invalid(fmt::format("{} = {}: no such value; expected {}", name, static_cast<int>(value), expected));
}

Status check_epilogue(const GemmDescription& d) {
  if (Status s = check_value("bias", d.bias, Bias::per_column, "none, per_row or per_column"); !s.ok()) return s;
  if (Status s = check_value("activation", d.activation, Activation::gelu, "none, relu or gelu"); !s.ok()) return s;
  if (d.activation == Activation::none) return {};
  if (is_complex(d.types.output) || (d.activation == Activation::gelu && !is_floating(d.types.output)))
    return {StatusCode::unsupported,
            fmt::format("activation = {}: not defined for {}; expected none{}", to_string(d.activation),
                        to_string(d.types.output), is_complex(d.types.output) ? "" : " or relu")};
  return {};
}

Status check_scales(const GemmDescription& d) {
  if (!d.row_scales && !d.column_scales) return {};
  if (is_floating(d.types.input) && !is_complex(d.types.input)) return {};
  return {StatusCode::unsupported,
          fmt::format("{}: not defined for {}; expected a product of real floating types, or none",
                      d.row_scales ? "row_scales" : "column_scales", to_string(d.types))};
}

Status check_conjugates(const GemmDescription& d) {
  if (!d.c.conjugate && !(d.d && d.d->conjugate)) return {};
  return invalid(fmt::format("{}.conjugate = true: expected false, because only A and B can be conjugated",
                             d.c.conjugate ? "c" : "d"));
}

Status check_accuracy(const GemmDescription& d, Accuracy accuracy) {
  if (Status s = check_value("accuracy", accuracy, Accuracy::correctly_rounded,
                             "reduced, standard, compensated or correctly_rounded");
      !s.ok())
    return s;
  if (accuracy <= Accuracy::standard) return {};
  const std::string_view obstacle = d.row_scales                       ? "row_scales"
                                    : d.column_scales                  ? "column_scales"
                                    : d.activation == Activation::gelu ? "activation = gelu"
                                                                       : "";
  if (obstacle.empty()) return {};
  return {StatusCode::unsupported,
          fmt::format("accuracy = {}: not defined with {}; expected no scales, and no activation but relu",
                      to_string(accuracy), obstacle)};
}

}  // namespace

Status validate(const GemmDescription& d, const GemmOptions& options) {
  if (Status s = check_types(d.types); !s.ok()) return s;
  if (Status s = check_sizes(d); !s.ok()) return s;
  if (Status s = check_products(d); !s.ok()) return s;
  const std::array<Reach, 4> operands{{{"a", d.a, d.m, d.k, d.types.input},
                                       {"b", d.b, d.k, d.n, d.types.input_b},
                                       {"c", d.c, d.m, d.n, d.types.output},
                                       {output_of(d).name, output_of(d).layout, d.m, d.n, d.types.output}}};
  for (const Reach& operand : operands)
    if (Status s = check_reach(operand, d.batch_count); !s.ok()) return s;
  if (Status s = check_c_strides(d); !s.ok()) return s;
  if (Status s = check_conjugates(d); !s.ok()) return s;
  if (Status s = check_epilogue(d); !s.ok()) return s;
  if (Status s = check_scales(d); !s.ok()) return s;
  if (Status s = check_accuracy(d, options.accuracy); !s.ok()) return s;
  if (Status s = check_value("planning", options.planning, Planning::measured, "formula, estimate or measured");
      !s.ok())
    return s;
  if (Status s = check_value("memory", options.memory, Memory::device, "host or device"); !s.ok()) return s;
  if (!options.parameters.empty() && !tuning::Parameters::parse(options.parameters))
    return invalid(
        fmt::format("parameters = {}: expected the form \"NAME=NUMBER NAME=NUMBER ...\"", options.parameters));
  if (options.backend > Backend::opencl)
    return invalid(fmt::format("backend = {}: no such value", static_cast<int>(options.backend)));
  if (options.threads < 0)
    return invalid(fmt::format("threads = {}: expected 0 (the default) or a positive number", options.threads));
  return {};
}

Status check_factors(ElementType type, const Scalar& alpha, const Scalar& beta) {
  if (is_complex(type)) return {};
  const auto check = [&](const char* name, const Scalar& scalar) -> Status {
    if (!scalar.is_real())
      return invalid(fmt::format("{} is complex: expected a real number for {}", name, to_string(type)));
    if (!is_floating(type) && !scalar.is_integral())
      return invalid(
          fmt::format("{} = {}: expected a whole number for {}", name, scalar.as<double>(), to_string(type)));
    return {};
  };
  if (Status s = check("alpha", alpha); !s.ok()) return s;
  return check("beta", beta);
}

}  // namespace exactile::plan
