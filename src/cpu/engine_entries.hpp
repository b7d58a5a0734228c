// SPDX-License-Identifier: Apache-2.0
/// \file
/// One entry per family, instruction set and type. The micro-kernels an entry runs are a template argument (a function
/// such as avx512_f32), because an entry is plain function pointers.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/isa.hpp"
#include "cpu/loops/packed.hpp"
#include "cpu/loops/tuned_blocking.hpp"
#include "cpu/micro/tile.hpp"
#include "cpu/scaled.hpp"
#include "cpu/small/deep.hpp"
#include "cpu/small/direct.hpp"
#include "cpu/small/stream.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

template <class T>
inline constexpr std::array<GemmTypes, 1> types_of{{{element_type_v<T>, element_type_v<T>}}};

template <Isa isa>
std::string_view unavailable(int) {
  return why_unavailable(isa);
}

/// A name as a template argument: an entry's functions must know under which one measurements are filed.
template <std::size_t size>
struct Name {
  char text[size];
  consteval Name(const char (&name)[size]) { std::copy_n(name, size, text); }  // NOLINT(*-explicit-*)
  [[nodiscard]] constexpr std::string_view view() const { return {text, size - 1}; }
};

template <Isa isa, class T, auto Micro, Name name>
plan::KernelEntry packed_entry() {
  return {
      .name = name.view(),
      .backend = "cpu",
      .role = "engine",
      .summary = "cache-blocked loops over packed panels; any strides, any number of threads",
      .types = types_of<T>,
      .unavailable = unavailable<isa>,
      .refuses = [](const plan::Problem& p) { return packed_refuses(p, Micro()); },
      .cost = [](const plan::Problem& p) { return packed_cost(p, Micro()); },
      .prepare =
          [](const plan::Problem& p) {
            return with_scales<T>(p, [](const plan::Problem& q) { return make_packed(q, Micro(), name.view()); });
          },
      .tunable = [](GemmTypes,
                    int) { return blocking_target(Micro().rows, Micro().vectors * Micro().lanes, chunk_terms<T>); }};
}

template <Isa isa, class T, auto Micro>
plan::KernelEntry direct_entry(std::string_view name) {
  return {.name = name,
          .backend = "cpu",
          .role = "engine",
          .summary = "the micro-kernel on the operands where they lie: small products and batches of them",
          .types = types_of<T>,
          .unavailable = unavailable<isa>,
          .refuses = direct_refuses,
          .cost = [](const plan::Problem& p) { return direct_cost(p, Micro()); },
          .prepare =
              [](const plan::Problem& p) {
                return with_scales<T>(p, [](const plan::Problem& q) { return make_direct(q, Micro()); });
              }};
}

template <Isa isa, class T, auto Micro>
plan::KernelEntry stream_entry(std::string_view name) {
  return {.name = name,
          .backend = "cpu",
          .role = "engine",
          .summary = "a few rows against a B that is read once from memory",
          .types = types_of<T>,
          .unavailable = unavailable<isa>,
          .refuses = [](const plan::Problem& p) { return stream_refuses(p, Micro()); },
          .cost = [](const plan::Problem& p) { return stream_cost(p, Micro()); },
          .prepare =
              [](const plan::Problem& p) {
                return with_scales<T>(p, [](const plan::Problem& q) { return make_stream(q, Micro()); });
              }};
}

template <Isa isa, class T, auto Micro>
plan::KernelEntry deep_entry(std::string_view name) {
  return {.name = name,
          .backend = "cpu",
          .role = "engine",
          .summary = "long sums in chunks: one after the other, or shared by threads and added to C in order",
          .types = types_of<T>,
          .unavailable = unavailable<isa>,
          .refuses = deep_refuses<T>,
          .cost = [](const plan::Problem& p) { return deep_cost(p, Micro()); },
          .prepare =
              [](const plan::Problem& p) {
                return with_scales<T>(p, [](const plan::Problem& q) { return make_deep(q, Micro()); });
              }};
}

}  // namespace exactile::cpu
