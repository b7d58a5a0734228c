// SPDX-License-Identifier: Apache-2.0
/// \file One entry of the vector kernels per instruction set and type of A and B.
#pragma once

#include <array>

#include "cpu/engine_entries.hpp"
#include "cpu/isa.hpp"
#include "cpu/small/vector_roles.hpp"
#include "cpu/small/vectors.hpp"

namespace exactile::cpu {

/// The products of A and B of type In: narrow floats have outputs of two types.
template <class In>
[[nodiscard]] consteval auto types_from() {
  constexpr ElementType in = element_type_v<In>;
  constexpr ElementType sum = element_type_v<Accumulator<In>>;
  if constexpr (std::is_same_v<In, Float16> || std::is_same_v<In, BFloat16>)
    return std::array<GemmTypes, 2>{{{in, in}, {in, sum}}};
  else if constexpr (std::is_same_v<In, Float8E4M3> || std::is_same_v<In, Float8E5M2>)
    return std::array<GemmTypes, 2>{{{in, sum}, {in, ElementType::bf16}}};
  else
    return std::array<GemmTypes, 1>{{{in, sum}}};
}
template <class In>
inline constexpr auto vector_types = types_from<In>();

/// With AVX2's dot, which reads memory in one stream, where that is faster; its bits are the same. Not for i64 and
/// 8-bit floats, which AVX2 multiplies and converts slower, nor for bytes, where it gains nothing.
template <class In>
const VectorKernels<In>& avx512_vectors_here() {
  constexpr bool is_as_fast = sizeof(In) > 1 && !std::is_same_v<In, std::int64_t>;
  static const VectorKernels<In> table = [] {
    VectorKernels<In> kernels = avx512_vectors<In>();
    if (is_as_fast && reads_one_stream_faster()) kernels.dot = avx2_vectors<In>().dot;
    return kernels;
  }();
  return table;
}

template <Isa isa, class In>
const VectorKernels<In>& vector_kernels_of() {
  if constexpr (isa == Isa::avx512)
    return avx512_vectors_here<In>();
  else if constexpr (isa == Isa::avx2)
    return avx2_vectors<In>();
  else
    return neon_vectors<In>();
}

template <Isa isa, class In>
Demand demand_of_vectors(const plan::Problem& problem) {
  constexpr int vector_bytes = isa == Isa::avx512 ? 64 : isa == Isa::avx2 ? 32 : 16;
  return vectors_demand<In>(problem, vector_bytes);
}

template <Isa isa, class In>
plan::KernelEntry vector_entry(std::string_view name) {
  return {.name = name,
          .backend = Backend::cpu,
          .role = "engine",
          .summary = "up to eight rows or columns: the other operand is read once, along what is contiguous in it",
          .types = vector_types<In>,
          .unavailable = unavailable<isa>,
          .refuses =
              [](const plan::Problem& p) {
                const std::string_view why = vectors_refuse(p);
                return why.empty() ? vectors_refuse_reproducible(p) : why;
              },
          .cost = [](const plan::Problem& p) { return cost_of<"vectors", isa, In>(p, demand_of_vectors<isa, In>); },
          .prepare =
              [](const plan::Problem& p) {
                return make_vectors<In>(with_team<"vectors", isa, In>(p, demand_of_vectors<isa, In>),
                                        vector_kernels_of<isa, In>());
              },
          .gives_way = vectors_give_way,
          .reproducible = true};
}

/// W of bytes with a sign or without one, and x of the same or the other bytes.
template <Isa isa, class W, class Other>
std::unique_ptr<plan::Executable> make_byte_vectors(const plan::Problem& problem) {
  static const VectorKernels<W> mixed =
      with_vectors_of(vector_kernels_of<isa, W>(), vector_kernels_of<isa, Other>().hold);
  const bool is_mixed = problem.description.types.input != problem.description.types.input_b;
  return make_vectors<W>(problem, is_mixed ? mixed : vector_kernels_of<isa, W>());
}

template <Isa isa>
plan::KernelEntry byte_vector_entry(std::string_view name) {
  plan::KernelEntry entry = vector_entry<isa, std::int8_t>(name);
  entry.types = types_of<I8Pairs>;
  entry.prepare = [](const plan::Problem& p) {
    const GemmTypes types = p.description.types;
    const ElementType w = vector_roles(p.description).w_is_a ? types.input : types.input_b;
    const plan::Problem q = with_team<"vectors", isa, std::int8_t>(p, demand_of_vectors<isa, std::int8_t>);
    return w == ElementType::i8 ? make_byte_vectors<isa, std::int8_t, std::uint8_t>(q)
                                : make_byte_vectors<isa, std::uint8_t, std::int8_t>(q);
  };
  return entry;
}

}  // namespace exactile::cpu
