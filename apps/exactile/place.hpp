// SPDX-License-Identifier: Apache-2.0
/// \file Where the operands of a measurement lie, and the clock that times what is done to them there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "exactile/plan.hpp"
#include "measure/stopwatch.hpp"
#include "operands.hpp"

namespace exactile::program {

class Place {
 public:
  virtual ~Place() = default;
  /// NaN in every C there, as Operands::poison_output().
  [[nodiscard]] virtual Status poison_output() = 0;
  /// Runs the plan once and waits for it. Seconds by the host's clock.
  [[nodiscard]] virtual Result<double> run_once(const Plan& plan) = 0;
  [[nodiscard]] virtual Result<measure::Timing> time(const Plan& plan, const measure::TimingLimits& limits) = 0;
  /// Seconds of moving A and B there, one run, and moving C back; nothing where nothing has to be moved.
  [[nodiscard]] virtual Result<std::optional<double>> seconds_with_copies(const Plan& plan) = 0;
  /// Brings C to the Operands' own.
  [[nodiscard]] virtual Status fetch_output() = 0;
};

/// The memory that the options name. The operands must live as long.
[[nodiscard]] Result<std::unique_ptr<Place>> make_place(const GemmOptions& options, Operands& operands);

}  // namespace exactile::program
