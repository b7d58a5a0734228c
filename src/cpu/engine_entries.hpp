// SPDX-License-Identifier: Apache-2.0
/// \file
/// One entry per family, instruction set and type. The micro-kernels an entry runs are a template argument (a function
/// such as avx512_f32), because an entry is plain function pointers.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/certified/certified.hpp"
#include "cpu/isa.hpp"
#include "cpu/loops/bf16.hpp"
#include "cpu/loops/packed.hpp"
#include "cpu/loops/tuned_blocking.hpp"
#include "cpu/micro/amx.hpp"
#include "cpu/model/team.hpp"
#include "cpu/order_of_sums.hpp"
#include "cpu/orientation.hpp"
#include "cpu/scaled.hpp"
#include "cpu/small/deep.hpp"
#include "cpu/small/direct.hpp"
#include "cpu/small/near.hpp"
#include "cpu/small/stream.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

template <class K>
inline constexpr auto types_of = std::array{GemmTypes{element_type_v<Input<K>>, element_type_v<Sum<K>>}};
/// Of narrow floats the loops round C, too: to f16 what was f16, else to bf16.
template <class K>
  requires(std::is_same_v<Sum<K>, float> && !std::is_same_v<Input<K>, float>)
inline constexpr auto types_of<K> = std::array{
    GemmTypes{element_type_v<Input<K>>, ElementType::f32},
    GemmTypes{element_type_v<Input<K>>, std::is_same_v<Input<K>, Float16> ? ElementType::f16 : ElementType::bf16}};

/// Of bytes packing settles which have a sign.
template <class K>
  requires(std::is_same_v<Input<K>, std::int8_t>)
inline constexpr auto types_of<K> =
    std::array{GemmTypes{ElementType::i8, ElementType::i32}, GemmTypes{ElementType::u8, ElementType::i32},
               GemmTypes{ElementType::u8, ElementType::i32, ElementType::i8},
               GemmTypes{ElementType::i8, ElementType::i32, ElementType::u8}};

/// The micro-kernels of an entry for A and B as the loops see them.
template <auto Micro>
const auto& micro_of(ElementType a, ElementType b) {
  if constexpr (std::is_invocable_v<decltype(Micro)>)
    return Micro();
  else
    return Micro(a, b);
}
template <auto Micro>
const auto& micro_of(const plan::Problem& problem) {
  const GemmTypes types = problem.description.types;
  const bool exchanged = types.input != types.input_b && preferred_orientation(problem.description).exchanged;
  return exchanged ? micro_of<Micro>(types.input_b, types.input) : micro_of<Micro>(types.input, types.input_b);
}

/// Whose bits a product has is settled before costs are compared.
template <class K>
std::string_view gives_way(const plan::Problem& problem) {
  if (const auto reason = gives_way_to_vectors(problem); !reason.empty()) return reason;
  if constexpr (std::is_same_v<K, Bf16Tiles>)
    return sums_in_tiles(problem) ? std::string_view() : "the bits of this product are those of pairs";
  if constexpr (std::is_same_v<Input<K>, BFloat16>)
    return sums_in_tiles(problem) ? "the bits of this product are those of AMX's tiles" : std::string_view();
  return {};
}

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

/// Of a number of threads, see best_team().
struct Estimated {
  int threads;
  double seconds;
  Demand demand;
};

/// Rates of a family, which are looked for once.
struct KeptRates {
  RatesKey key;
  Rates rates;
};
template <Name family, Isa isa, class In>
const KeptRates& kept_rates() {
  static const KeptRates kept = [] {
    const RatesKey key{family.view(), isa, element_type_v<In>};
    return KeptRates{key, rates_of(key)};
  }();
  return kept;
}

/// What a product asks of a family of kernels with as many threads as are worth it, or as its team is fixed. Its time,
/// by which kernels are compared, is that of threads that do not sleep: of a program that multiplies again and again.
template <Name family, Isa isa, class In, class DemandOf>
Estimated estimated(plan::Problem problem, const DemandOf& demand_of) {
  const KeptRates& kept = kept_rates<family, isa, In>();
  const auto estimate = [&](int threads) {
    problem.threads = threads;
    const Demand demand = demand_of(problem);
    return Estimated{demand.threads, seconds(demand, kept.rates), demand};
  };
  const Estimated best = problem.is_team_fixed ? estimate(problem.threads) : best_team(problem.threads, estimate);
  latest_estimate() = {kept.key, best.demand};
  return best;
}

template <Name family, Isa isa, class In, class DemandOf>
double cost_of(const plan::Problem& problem, const DemandOf& demand_of) {
  return estimated<family, isa, In>(problem, demand_of).seconds;
}
template <Name family, Isa isa, class In, class DemandOf>
plan::Problem with_team(plan::Problem problem, const DemandOf& demand_of) {
  problem.threads = estimated<family, isa, In>(problem, demand_of).threads;
  return problem;
}
/// What `make` makes of the product with its team; T sums, see with_scales().
template <Name family, Isa isa, class In, class T, class DemandOf, class Make>
std::unique_ptr<plan::Executable> made_of(const plan::Problem& problem, const DemandOf& demand_of, const Make& make) {
  return with_scales<T>(with_team<family, isa, In>(problem, demand_of), make);
}

template <Isa isa, class K, auto Micro, Name name>
plan::KernelEntry packed_entry() {
  static constexpr auto demand = [](const plan::Problem& p) { return packed_demand(p, micro_of<Micro>(p)); };
  return {.name = name.view(),
          .backend = Backend::cpu,
          .role = "engine",
          .summary = "cache-blocked loops over packed panels; any strides, any number of threads",
          .types = types_of<K>,
          .unavailable = unavailable<isa>,
          .refuses = [](const plan::Problem& p) { return packed_refuses(p, micro_of<Micro>(p)); },
          .cost = [](const plan::Problem& p) { return cost_of<"packed", isa, Input<K>>(p, demand); },
          .prepare =
              [](const plan::Problem& p) {
                return made_of<"packed", isa, Input<K>, Sum<K>>(
                    p, demand, [](const plan::Problem& q) { return make_packed(q, micro_of<Micro>(q), name.view()); });
              },
          .gives_way = gives_way<K>,
          .conjugates = true,
          .reproducible = true,
          .tunable =
              [](GemmTypes types, int) {
                const auto& micro = micro_of<Micro>(types.input, types.input_b);
                return blocking_target(micro.rows, micro.vectors * micro.lanes, chunk_terms<K>);
              }};
}

template <Isa isa, class K, auto Micro>
plan::KernelEntry near_entry(std::string_view name) {
  static constexpr auto demand = [](const plan::Problem& p) { return near_demand(p, micro_of<Micro>(p)); };
  return {.name = name,
          .backend = Backend::cpu,
          .role = "engine",
          .summary = "small products and batches of them, packed side by side in the nearest caches",
          .types = types_of<K>,
          .unavailable = unavailable<isa>,
          .refuses = [](const plan::Problem& p) { return near_refuses(p, micro_of<Micro>(p)); },
          .cost = [](const plan::Problem& p) { return cost_of<"near", isa, Input<K>>(p, demand); },
          .prepare =
              [](const plan::Problem& p) {
                return made_of<"near", isa, Input<K>, Sum<K>>(
                    p, demand, [](const plan::Problem& q) { return make_near(q, micro_of<Micro>(q)); });
              },
          .gives_way = gives_way<K>,
          .reproducible = true};
}

template <Isa isa, class K, auto Pairs, auto Otherwise>
plan::KernelEntry near_bf16_entry(std::string_view name) {
  plan::KernelEntry entry = near_entry<isa, K, Pairs>(name);
  entry.prepare = [](const plan::Problem& p) {
    return made_of<"near", isa, Input<K>, float>(
        p, [](const plan::Problem& q) { return near_demand(q, Pairs()); },
        [](const plan::Problem& q) { return make_bf16(q, make_near(q, Pairs()), make_near(q, Otherwise())); });
  };
  return entry;
}

/// bf16 by pairs where that flushes nothing, else widened: the same bits.
template <Isa isa, class K, auto Pairs, auto Otherwise, Name name>
plan::KernelEntry bf16_entry() {
  plan::KernelEntry entry = packed_entry<isa, K, Pairs, name>();
  entry.prepare = [](const plan::Problem& p) {
    return made_of<"packed", isa, Input<K>, float>(
        p, [](const plan::Problem& q) { return packed_demand(q, Pairs()); },
        [](const plan::Problem& q) {
          return make_bf16(q, make_packed(q, Pairs(), name.view()), make_packed(q, Otherwise(), name.view()));
        });
  };
  return entry;
}

template <Isa isa, class T, auto Micro>
plan::KernelEntry direct_entry(std::string_view name) {
  static constexpr auto demand = [](const plan::Problem& p) { return direct_demand(p, Micro()); };
  return {.name = name,
          .backend = Backend::cpu,
          .role = "engine",
          .summary = "the micro-kernel on the operands where they lie: small products and batches of them",
          .types = types_of<T>,
          .unavailable = unavailable<isa>,
          .refuses = direct_refuses,
          .cost = [](const plan::Problem& p) { return cost_of<"direct", isa, T>(p, demand); },
          .prepare =
              [](const plan::Problem& p) {
                return made_of<"direct", isa, T, T>(p, demand,
                                                    [](const plan::Problem& q) { return make_direct(q, Micro()); });
              },
          .gives_way = gives_way<T>,
          .conjugates = true,
          .reproducible = true};
}

template <Isa isa, class T, auto Micro>
plan::KernelEntry stream_entry(std::string_view name) {
  static constexpr auto demand = [](const plan::Problem& p) { return stream_demand(p, Micro()); };
  return {.name = name,
          .backend = Backend::cpu,
          .role = "engine",
          .summary = "a few rows against a B that is read once from memory",
          .types = types_of<T>,
          .unavailable = unavailable<isa>,
          .refuses = [](const plan::Problem& p) { return stream_refuses(p, Micro()); },
          .cost = [](const plan::Problem& p) { return cost_of<"stream", isa, T>(p, demand); },
          .prepare =
              [](const plan::Problem& p) {
                return made_of<"stream", isa, T, T>(p, demand,
                                                    [](const plan::Problem& q) { return make_stream(q, Micro()); });
              },
          .gives_way = gives_way<T>,
          .reproducible = true};
}

template <Isa isa, class K, auto Micro>
plan::KernelEntry deep_entry(std::string_view name) {
  static constexpr auto demand = [](const plan::Problem& p) { return deep_demand(p, micro_of<Micro>(p)); };
  return {.name = name,
          .backend = Backend::cpu,
          .role = "engine",
          .summary = "long sums in chunks: one after the other, or shared by threads and added to C in order",
          .types = types_of<K>,
          .unavailable = unavailable<isa>,
          .refuses = [](const plan::Problem& p) { return deep_refuses(p, micro_of<Micro>(p)); },
          .cost = [](const plan::Problem& p) { return cost_of<"deep", isa, Input<K>>(p, demand); },
          .prepare =
              [](const plan::Problem& p) {
                return made_of<"deep", isa, Input<K>, Sum<K>>(
                    p, demand, [](const plan::Problem& q) { return make_deep(q, micro_of<Micro>(q)); });
              },
          .gives_way = gives_way<K>,
          .conjugates = true,
          .reproducible = true};
}

template <Isa isa, class K, auto Pairs, auto Otherwise>
plan::KernelEntry deep_bf16_entry(std::string_view name) {
  plan::KernelEntry entry = deep_entry<isa, K, Pairs>(name);
  entry.prepare = [](const plan::Problem& p) {
    return made_of<"deep", isa, Input<K>, float>(
        p, [](const plan::Problem& q) { return deep_demand(q, Pairs()); },
        [](const plan::Problem& q) { return make_bf16(q, make_deep(q, Pairs()), make_deep(q, Otherwise())); });
  };
  return entry;
}

inline constexpr std::array certified_types{
    GemmTypes{ElementType::f64, ElementType::f64},    GemmTypes{ElementType::f32, ElementType::f32},
    GemmTypes{ElementType::f16, ElementType::f16},    GemmTypes{ElementType::f16, ElementType::f32},
    GemmTypes{ElementType::bf16, ElementType::bf16},  GemmTypes{ElementType::bf16, ElementType::f32},
    GemmTypes{ElementType::f8e4m3, ElementType::f32}, GemmTypes{ElementType::f8e4m3, ElementType::bf16},
    GemmTypes{ElementType::f8e5m2, ElementType::f32}, GemmTypes{ElementType::f8e5m2, ElementType::bf16},
    GemmTypes{ElementType::cf64, ElementType::cf64},  GemmTypes{ElementType::cf32, ElementType::cf32}};

template <Isa isa, auto Kernels>
plan::KernelEntry certified_entry(std::string_view name) {
  return {.name = name,
          .backend = Backend::cpu,
          .role = "engine",
          .summary = "sums of f64 with a bound for each: compensated and correctly_rounded",
          .types = certified_types,
          .unavailable = unavailable<isa>,
          .refuses = certified_refuses,
          .cost = [](const plan::Problem& p) { return certified_cost(p, Kernels(p.description.types.input)); },
          .prepare = [](const plan::Problem& p) { return make_certified(p, Kernels(p.description.types.input)); },
          .conjugates = true,
          .certifies = true,
          .reproducible = true};
}

}  // namespace exactile::cpu
