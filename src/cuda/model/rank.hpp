// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which candidates seem fastest: the formula of cost.hpp, corrected by what measured products nearby took.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda/kernel.hpp"
#include "cuda/model/rows.hpp"
#include "cuda/multiplier.hpp"

namespace exactile::cuda::model {

struct Ranked {
  Configuration configuration;
  double seconds;    ///< in a graph
  int launches = 1;  ///< that a program makes where there is no graph
};

/// Whether the kernel is an engine that does such a product on the device.
[[nodiscard]] bool can_do(const Kernel& kernel, const plan::Problem& problem, const Device& device);

/// What a candidate's rates are filed under: of a kernel that hands a product on, those of the one that multiplies.
[[nodiscard]] RatesKey rates_key(const Kernel& kernel, ElementType type, const Candidate& candidate,
                                 const Device& device);

/// What is known of a device.
class DeviceModel {
 public:
  /// `kernels`: all there are, to learn how far the formula is from what was measured. `rows`: of that device or of the
  /// nearest one.
  DeviceModel(const Device& device, DeviceRows rows, std::span<const Kernel* const> kernels);

  /// By the formula alone. A configuration that was never measured comes after all that were: as if an SM did
  /// one multiply-add of its tile in a thousand clocks.
  [[nodiscard]] double formula(const Kernel& kernel, const GemmDescription& description,
                               const Candidate& candidate) const;
  /// Cheapest first. `corrected`: by measured products, but for `left_out`.
  [[nodiscard]] std::vector<Ranked> rank(const Kernel& kernel, const plan::Problem& problem,
                                         std::span<const Candidate> candidates, bool corrected,
                                         const MeasuredProduct* left_out = nullptr) const;
  /// What rank() answers, for programs that enqueue each launch.
  [[nodiscard]] std::vector<Ranked> on_stream(std::vector<Ranked> ranked) const;

  /// Whether the formula has coefficients for the candidate.
  [[nodiscard]] bool knows(const Kernel& kernel, const GemmDescription& description, const Candidate& candidate) const;
  [[nodiscard]] const DeviceRows& rows() const { return rows_; }

 private:
  [[nodiscard]] std::vector<Ranked> rank_multiplier(const Multiplier& multiplier, const plan::Problem& problem,
                                                    std::span<const Candidate> candidates, bool corrected,
                                                    const MeasuredProduct* left_out) const;
  [[nodiscard]] const Rates* rates_of(const Kernel& kernel, const GemmDescription& description,
                                      const Candidate& candidate) const;
  struct Neighbour;
  class Corrections;
  [[nodiscard]] std::vector<Neighbour> neighbours(const GemmDescription& description, Accuracy accuracy,
                                                  const MeasuredProduct* left_out) const;

  Device device_;
  DeviceRows rows_;
  std::span<const Kernel* const> kernels_;
  double per_sm_ = 1;  ///< the rows' times of an SM, on this device
  std::shared_ptr<Corrections> corrections_;
};

/// The model of a device, from the user's rows (rows_file.hpp) or those that ship; made once.
[[nodiscard]] const DeviceModel& model_of(const Device& device);

/// The device's rows of a file, to add to; where it has none, coefficients to begin with and no products.
[[nodiscard]] DeviceRows rows_to_begin_with(const Device& device, const std::string& file);

}  // namespace exactile::cuda::model
