// SPDX-License-Identifier: Apache-2.0
/// \file Where the operands of a measurement lie, and the clock that times what is done to them there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "exactile/plan.hpp"
#include "measure/stopwatch.hpp"
#include "operands.hpp"

namespace exactile::program {

/// Which operands are prepared once, before the clock runs.
struct PreparedInputs {
  bool a = false;
  bool b = false;
};

/// One or both operands of every copy, prepared.
class PreparedCopies {
 public:
  /// `arguments`: of copy i.
  [[nodiscard]] Status make(const Plan& plan, PreparedInputs inputs, std::int64_t copies, const Execution& execution,
                            const std::function<GemmArguments(std::int64_t)>& arguments);
  /// The arguments of copy `index` modulo the number of copies, with what is prepared in place of pointers.
  [[nodiscard]] GemmArguments in(GemmArguments arguments, std::int64_t index) const;

 private:
  std::vector<PreparedOperand> a_;
  std::vector<PreparedOperand> b_;
};

class Place {
 public:
  virtual ~Place() = default;
  /// NaN in every C there, as Operands::poison_output().
  [[nodiscard]] virtual Status poison_output() = 0;
  /// Runs the plan once and waits for it. Seconds by the host's clock.
  [[nodiscard]] virtual Result<double> run_once(const Plan& plan) = 0;
  [[nodiscard]] virtual Result<measure::Timing> time(const Plan& plan, const measure::TimingLimits& limits) = 0;
  /// Prepares those operands, every copy of them, for the plan; it runs from them from then on.
  [[nodiscard]] virtual Status prepare(const Plan& plan, PreparedInputs inputs) = 0;
  /// What one run of the plan adds to Execution::path_counts; empty where its kernel has one path.
  [[nodiscard]] virtual Result<std::vector<std::uint64_t>> path_counts(const Plan& plan) = 0;
  /// Seconds of moving A and B there, one run, and moving C back; nothing where nothing has to be moved.
  [[nodiscard]] virtual Result<std::optional<double>> seconds_with_copies(const Plan& plan) = 0;
  /// Brings C to the Operands' own.
  [[nodiscard]] virtual Status fetch_output() = 0;
};

/// The memory that the options name. The operands must live as long.
[[nodiscard]] Result<std::unique_ptr<Place>> make_place(const GemmOptions& options, Operands& operands);

}  // namespace exactile::program
