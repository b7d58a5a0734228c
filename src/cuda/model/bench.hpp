// SPDX-License-Identifier: Apache-2.0
/// \file
/// Times configurations on a device that does nothing else.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "cuda/model/rank.hpp"

namespace exactile::cuda::model {

/// What the formula does not know is tried on so many products. Who measures more fits first: a product that does not
/// list what was there counts as slow by it.
inline constexpr std::size_t products_before_fit = 16;

/// Operands for products of one pair of types, filled with normal numbers. A run finds its own in memory; where L2 can
/// hold them they are used calls_of_operands times in a row.
class Bench {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Bench>> open(const Device& device, GemmTypes types);
  ~Bench();

  /// Whether each operand has room in its share of the memory.
  [[nodiscard]] static bool fits(const GemmDescription& description);

  /// The median seconds of a configuration; fails where its launch does, or with out_of_memory.
  [[nodiscard]] Result<double> time(const Kernel& kernel, const plan::Problem& problem,
                                    const Configuration& configuration, double expected_seconds);
  /// Of all configurations that the formula puts within `within` of the best it knows. Adds their ways to `ways`.
  /// No times of a product that does not fit.
  [[nodiscard]] Result<MeasuredProduct> measure(const GemmDescription& description, Accuracy accuracy,
                                                std::span<const Kernel* const> kernels, const DeviceModel& model,
                                                std::vector<Way>& ways, double within);

 private:
  struct State;
  explicit Bench(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace exactile::cuda::model
