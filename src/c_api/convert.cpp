// SPDX-License-Identifier: Apache-2.0
#include "c_api/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace exactile::c_api {
namespace {

Status invalid(std::string message) { return {StatusCode::invalid_argument, std::move(message)}; }

constexpr std::array<std::pair<std::int32_t, ElementType>, 13> types{{{EXACTILE_F64, ElementType::f64},
                                                                      {EXACTILE_F32, ElementType::f32},
                                                                      {EXACTILE_F16, ElementType::f16},
                                                                      {EXACTILE_BF16, ElementType::bf16},
                                                                      {EXACTILE_F8E4M3, ElementType::f8e4m3},
                                                                      {EXACTILE_F8E5M2, ElementType::f8e5m2},
                                                                      {EXACTILE_I64, ElementType::i64},
                                                                      {EXACTILE_I32, ElementType::i32},
                                                                      {EXACTILE_I8, ElementType::i8},
                                                                      {EXACTILE_CF64, ElementType::cf64},
                                                                      {EXACTILE_CF32, ElementType::cf32},
                                                                      {EXACTILE_U8, ElementType::u8},
                                                                      {EXACTILE_I16, ElementType::i16}}};

/// The entry of `values` that the number `index` counts, or a sentence.
template <class T, std::size_t N>
Status pick(const char* name, std::int32_t index, const std::array<T, N>& values, T& to) {
  if (index < 0 || static_cast<std::size_t>(index) >= N)
    return invalid(fmt::format("{} = {}: expected a number from 0 to {}", name, index, N - 1));
  to = values[static_cast<std::size_t>(index)];
  return {};
}

Status flag(std::string_view name, std::int64_t value, bool& to) {
  if (value != 0 && value != 1) return invalid(fmt::format("{} = {}: expected 0 or 1", name, value));
  to = value == 1;
  return {};
}

Status layout(const char* name, const exactile_layout& from, OperandLayout& to) {
  to = {.row_stride = from.row_stride, .column_stride = from.column_stride, .batch_stride = from.batch_stride};
  if (Status s = flag(fmt::format("{}.pointer_array", name), from.pointer_array, to.pointer_array); !s.ok()) return s;
  return flag(fmt::format("{}.conjugate", name), from.conjugate, to.conjugate);
}

template <class T>
Scalar read(const void* number) {
  T value{};
  std::memcpy(&value, number, sizeof value);
  return Scalar(value);
}

Scalar scalar(const void* number, ElementType type, int otherwise) {
  if (number == nullptr) return otherwise;
  switch (type) {
    case ElementType::f64: return read<double>(number);
    case ElementType::i64: return read<std::int64_t>(number);
    case ElementType::i32: return read<std::int32_t>(number);
    case ElementType::cf64: return read<std::complex<double>>(number);
    case ElementType::cf32: return read<std::complex<float>>(number);
    default: return static_cast<double>(read<float>(number).as<float>());
  }
}

std::string text(const char* from) { return from == nullptr ? std::string() : std::string(from); }

}  // namespace

std::optional<ElementType> element_type(std::int64_t type) noexcept {
  for (const auto& [number, element] : types)
    if (number == type) return element;
  return std::nullopt;
}

Status check_size(const char* name, const void* from, std::size_t least, std::size_t known) {
  if (from == nullptr) return invalid(fmt::format("{} = null: expected a pointer to a struct", name));
  std::size_t given = 0;
  std::memcpy(&given, from, sizeof given);
  if (given < least) return invalid(fmt::format("{}->size = {}: expected its sizeof, {} or more", name, given, least));
  if (given > (std::size_t{1} << 16))
    return invalid(fmt::format("{}->size = {}: expected the sizeof of a struct", name, given));
  if (given <= known) return {};
  const std::span<const char> unknown(static_cast<const char*>(from) + known, given - known);
  if (std::ranges::all_of(unknown, [](char byte) { return byte == 0; })) return {};
  return {StatusCode::unsupported,
          fmt::format("{}->size = {} and fields behind byte {} are set: this library is older than the header they "
                      "come from; expected zeros there",
                      name, given, known)};
}

Result<GemmDescription> description(const exactile_gemm_description* pointer) {
  const auto known = known_part("description", pointer);
  if (!known.ok()) return known.status();
  const exactile_gemm_description& from = known.value();
  const auto input = element_type(from.input_type);
  const auto output = element_type(from.output_type);
  if (!input || !output)
    return invalid(fmt::format("{} = {}: expected an exactile_type", input ? "output_type" : "input_type",
                               input ? from.output_type : from.input_type));
  const bool b_differs = from.b_type != 0;
  const auto input_b = b_differs ? element_type(from.b_type) : input;
  if (!input_b) return invalid(fmt::format("b_type = {}: expected an exactile_type, or 0", from.b_type));
  GemmDescription to;
  to.types = {*input, *output, *input_b};
  to.m = from.m;
  to.n = from.n;
  to.k = from.k;
  to.batch_count = from.batch_count;
  if (Status s = layout("a", from.a, to.a); !s.ok()) return s;
  if (Status s = layout("b", from.b, to.b); !s.ok()) return s;
  if (Status s = layout("c", from.c, to.c); !s.ok()) return s;
  bool has_d = false;
  if (Status s = flag("has_d", from.has_d, has_d); !s.ok()) return s;
  if (has_d)
    if (Status s = layout("d", from.d, to.d.emplace()); !s.ok()) return s;
  if (Status s = flag("row_scales", from.row_scales, to.row_scales); !s.ok()) return s;
  if (Status s = flag("column_scales", from.column_scales, to.column_scales); !s.ok()) return s;
  if (Status s = pick("bias", from.bias, std::array{Bias::none, Bias::per_row, Bias::per_column}, to.bias); !s.ok())
    return s;
  if (Status s = pick("activation", from.activation, std::array{Activation::none, Activation::relu, Activation::gelu},
                      to.activation);
      !s.ok())
    return s;
  return to;
}

Result<Backend> backend_named(const std::string& name) {
  if (name.empty()) return Backend::automatic;
  if (const auto backend = parse_backend(name)) return *backend;
  return Status(StatusCode::unknown_name,
                fmt::format("backend '{}' is not known; expected one of: automatic, cpu, cuda, opencl", name));
}

Result<GemmOptions> options(const exactile_gemm_options* pointer) {
  if (pointer == nullptr) return GemmOptions();
  const auto known = known_part("options", pointer);
  if (!known.ok()) return known.status();
  const exactile_gemm_options& from = known.value();
  const auto backend = backend_named(text(from.backend));
  if (!backend.ok()) return backend.status();
  GemmOptions to{.backend = backend.value(),
                 .kernel = text(from.kernel),
                 .threads = from.threads,
                 .device = from.device,
                 .parameters = text(from.parameters)};
  if (Status s =
          pick("accuracy", from.accuracy,
               std::array{Accuracy::standard, Accuracy::reduced, Accuracy::compensated, Accuracy::correctly_rounded},
               to.accuracy);
      !s.ok())
    return s;
  if (Status s = pick("memory", from.memory, std::array{Memory::host, Memory::device}, to.memory); !s.ok()) return s;
  if (Status s = flag("reproducible", from.reproducible, to.reproducible); !s.ok()) return s;
  return to;
}

Result<Execution> execution(const exactile_execution* pointer) {
  if (pointer == nullptr) return Execution();
  const auto known = known_part("execution", pointer);
  if (!known.ok()) return known.status();
  const exactile_execution& from = known.value();
  return Execution{.queue = from.queue,
                   .workspace = from.workspace,
                   .workspace_bytes = from.workspace_bytes,
                   .path_counts = from.path_counts};
}

Result<GemmArguments> arguments(const exactile_gemm_arguments& from, GemmTypes types) {
  const ElementType sums = accumulator_type(types);
  return GemmArguments{.a = from.a,
                       .b = from.b,
                       .c = from.c,
                       .alpha = scalar(from.alpha, sums, 1),
                       .beta = scalar(from.beta, sums, 0),
                       .bias = from.bias,
                       .row_scales = from.row_scales,
                       .column_scales = from.column_scales,
                       .d = from.d};
}

}  // namespace exactile::c_api
