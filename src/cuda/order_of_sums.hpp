// SPDX-License-Identifier: Apache-2.0
/// \file
/// THE policy behind GemmOptions::reproducible: where K is cut and in which order its parts are added is a function of
/// the types, the accuracy, k and the device's architecture. Here is written which kernels and configurations sum so;
/// no others are offered for a reproducible product. What changes an order changes bits, and is a new major version:
/// tests pin the fingerprints.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cuda/configuration.hpp"
#include "plan/problem.hpp"

namespace exactile::cuda {

/// One order of summation. All that keep it leave the same bits for the same row of A and column of B.
struct OrderOfSums {
  struct Member {
    std::string_view kernel;
    std::string_view pin;  ///< of the configurations that keep it, as Pin reads it; "": all
  };
  std::string_view name;  ///< for people
  std::span<const Member> members;
};

/// All there are.
[[nodiscard]] std::span<const OrderOfSums> orders_of_sums();

/// Which one a reproducible floating product up to `standard` has; null where no kernel keeps one (complex types: which
/// factor comes first there depends on layouts).
[[nodiscard]] const OrderOfSums* order_of_sums(GemmTypes types, Accuracy accuracy, std::int64_t k,
                                               int compute_capability);

[[nodiscard]] bool keeps(const OrderOfSums& order, std::string_view kernel, const Configuration& configuration);

/// Whether a kernel has configurations that keep some order.
[[nodiscard]] bool keeps_some_order(std::string_view kernel);

/// Of its name and all who keep it: 16 hexadecimal digits.
[[nodiscard]] std::string fingerprint(const OrderOfSums& order);

/// Why a kernel cannot do a reproducible problem that it could do otherwise; empty where it can.
[[nodiscard]] std::string_view order_refuses(const plan::Problem& problem, int compute_capability,
                                             std::string_view kernel);

/// Whether a configuration may be offered for a problem: always where that is not reproducible.
[[nodiscard]] bool may_offer(const plan::Problem& problem, int compute_capability, std::string_view kernel,
                             const Configuration& configuration);

/// How far the promise reaches, for explain(). `multiplies`: whether a kernel is for those types.
[[nodiscard]] std::string reach_of_order(const plan::Problem& problem, int compute_capability,
                                         bool (*multiplies)(std::string_view kernel, GemmTypes types));

}  // namespace exactile::cuda
