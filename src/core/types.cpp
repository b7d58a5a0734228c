// SPDX-License-Identifier: Apache-2.0
#include "exactile/types.hpp"

#include <array>

namespace exactile {
namespace {

struct TypeFacts {
  ElementType type;
  std::string_view name;
  std::int64_t bytes;
  double unit_roundoff;
};

constexpr std::array<TypeFacts, 13> facts{{
    {ElementType::f64, "f64", 8, 0x1p-53},
    {ElementType::f32, "f32", 4, 0x1p-24},
    {ElementType::f16, "f16", 2, 0x1p-11},
    {ElementType::bf16, "bf16", 2, 0x1p-8},
    {ElementType::f8e4m3, "f8e4m3", 1, 0x1p-4},
    {ElementType::f8e5m2, "f8e5m2", 1, 0x1p-3},
    {ElementType::i64, "i64", 8, 0},
    {ElementType::i32, "i32", 4, 0},
    {ElementType::i8, "i8", 1, 0},
    {ElementType::cf64, "cf64", 16, 0x1p-53},
    {ElementType::cf32, "cf32", 8, 0x1p-24},
    {ElementType::u8, "u8", 1, 0},
    {ElementType::i16, "i16", 2, 0},
}};

constexpr TypeFacts unknown_type{ElementType::f64, "unknown", 1, 0};

constexpr const TypeFacts& facts_of(ElementType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < facts.size() ? facts[index] : unknown_type;  // a binding may hand over any number
}

using enum ElementType;
constexpr std::array<GemmTypes, 20> gemm_types{
    {{f64, f64},     {f32, f32},    {f16, f16},     {f16, f32},    {bf16, bf16}, {bf16, f32}, {f8e4m3, f32},
     {f8e4m3, bf16}, {f8e5m2, f32}, {f8e5m2, bf16}, {i64, i64},    {i32, i32},   {i8, i32},   {cf64, cf64},
     {cf32, cf32},   {u8, i32},     {u8, i32, i8},  {i8, i32, u8}, {i16, i32},   {i32, i64}}};

}  // namespace

std::span<const GemmTypes> all_gemm_types() noexcept { return gemm_types; }

std::string_view to_string(ElementType type) noexcept { return facts_of(type).name; }

std::string to_string(GemmTypes types) {
  std::string name(to_string(types.input));
  if (types.input_b != types.input) name.append("x").append(to_string(types.input_b));
  if (types.input != types.output) name.append("->").append(to_string(types.output));
  return name;
}

std::optional<GemmTypes> parse_gemm_types(std::string_view name) noexcept {
  std::optional<GemmTypes> alone;
  for (GemmTypes types : gemm_types) {
    const std::string whole = to_string(types);
    if (whole == name) return types;
    if (!alone && whole.substr(0, whole.find("->")) == name) alone = types;
  }
  return alone;
}

ElementType accumulator_type(ElementType input) noexcept {
  switch (input) {
    case f16:
    case bf16:
    case f8e4m3:
    case f8e5m2: return f32;
    case i8:
    case u8:
    case i16: return i32;
    default: return input;
  }
}

ElementType accumulator_type(GemmTypes types) noexcept {
  return types.input == i32 ? types.output : accumulator_type(types.input);
}

std::int64_t size_in_bytes(ElementType type) noexcept { return facts_of(type).bytes; }
bool is_floating(ElementType type) noexcept { return facts_of(type).unit_roundoff > 0; }
bool is_complex(ElementType type) noexcept { return type == cf32 || type == cf64; }
double unit_roundoff(ElementType type) noexcept { return facts_of(type).unit_roundoff; }

double operation_count(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k) noexcept {
  const double per_term = is_complex(types.input) ? 8 : 2;
  return per_term * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

}  // namespace exactile
