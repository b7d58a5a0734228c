// SPDX-License-Identifier: Apache-2.0
/// \file
/// exactile as a contender: a plan made once, then run.
#pragma once

#include <memory>
#include <string>

#include "comparison/contender.hpp"
#include "exactile/plan.hpp"

namespace exactile::comparison {

struct OurOptions {
  Backend backend = Backend::cpu;
  std::string kernel;                ///< "" lets the planner choose
  const Context* context = nullptr;  ///< where the operands lie; null is host memory
  bool prepared_a = false;           ///< the operand of every set is prepared before any call
  bool prepared_b = false;
  bool promises_least = false;  ///< under `standard`, not reproducible, whatever the product asks for
};

/// The product as exactile is told of it.
[[nodiscard]] GemmDescription description_of(const Product& product);

[[nodiscard]] std::unique_ptr<Contender> make_exactile(OurOptions options);

}  // namespace exactile::comparison
