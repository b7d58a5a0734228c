// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whose order the sums of a product have where kernels differ in it (docs/adr/0006). The types, sizes and strides of
/// one product and the processor's rates decide, never threads or the batch.
#pragma once

#include <cstdint>
#include <string_view>

#include "cpu/model/cost.hpp"
#include "plan/problem.hpp"

namespace exactile::cpu {

/// Whose order: that of the vectors, of bf16 in AMX's tile registers, or the one that all other engine kernels have.
enum class SumOrder : std::uint8_t { common, vectors, tiles };
[[nodiscard]] SumOrder order_of(const RatesKey& key);

/// Whether the kernels that could do this product leave different bits, as vectors and few rows in tiles may do: then
/// the one that is estimated to be the fastest for the product alone() settles the order. Else costs alone decide.
[[nodiscard]] bool sums_may_differ(const plan::Problem& problem);

/// Why vectors cannot do a reproducible product that they could do otherwise; empty where their order is the others'.
[[nodiscard]] std::string_view vectors_refuse_reproducible(const plan::Problem& problem);

/// The product by itself, on one thread: what the choice of an order is made for.
[[nodiscard]] plan::Problem alone(plan::Problem problem);

/// Whether this product has the sums of the vector kernels: where these are estimated to be the fastest of all for the
/// product alone.
[[nodiscard]] bool sums_as_vectors(const plan::Problem& problem);

/// Whether the sums of this product are those of AMX's tile registers: of bf16, where sizes fill tiles or these are
/// estimated to be the fastest of all for the product alone.
[[nodiscard]] bool sums_in_tiles(const plan::Problem& problem);

/// For the other kernels' KernelEntry::gives_way, and for that of the vectors.
[[nodiscard]] std::string_view gives_way_to_vectors(const plan::Problem& problem);
[[nodiscard]] std::string_view vectors_give_way(const plan::Problem& problem);

}  // namespace exactile::cpu
