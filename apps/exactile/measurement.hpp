// SPDX-License-Identifier: Apache-2.0
/// \file One kernel on one product: how long, how far from the peak, how far from the exact result.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "exactile/plan.hpp"
#include "json.hpp"
#include "measure/stopwatch.hpp"
#include "operands.hpp"
#include "place.hpp"
#include "verification/verification.hpp"

namespace exactile::program {

/// Peaks are measured once for each backend and type.
class PeakMeter {
 public:
  explicit PeakMeter(int threads) : threads_(threads) {}
  /// Operations per second; nothing where the backend cannot say.
  [[nodiscard]] std::optional<double> peak(Backend backend, GemmTypes types, int device = 0);

 private:
  int threads_;
  std::map<std::tuple<Backend, int, ElementType, ElementType>, std::optional<double>> peaks_;
};

struct MeasurementRequest {
  GemmDescription description;
  GemmOptions options;
  measure::TimingLimits limits;
  /// A call that would take longer is timed on part of its rows and its time multiplied; 0 never does so.
  double longest_call_seconds = 0;
  PreparedInputs prepared = {};
};

struct Measurement {
  GemmDescription description;
  Accuracy accuracy = Accuracy::standard;
  PlanSummary summary;  ///< of the whole product, also where part of it was timed
  int device = 0;
  measure::Timing timing;  ///< by the clock of the device that computes
  /// Moving the operands to the device, one run, and moving C back; nothing where they are where they are needed.
  std::optional<double> seconds_with_copies;
  std::int64_t timed_rows = 0;
  PreparedInputs prepared;
  std::vector<std::uint64_t> path_counts;  ///< of one run, as PlanSummary::paths; empty where not counted
  double operations_per_second = 0;
  std::optional<double> fraction_of_peak;
  verification::ErrorReport error;

  [[nodiscard]] bool partial() const { return timed_rows < description.m; }
  /// Bytes of the kernel's traffic model over the time.
  [[nodiscard]] double bytes_per_second() const;
};

/// Times the kernel and compares its result. A Status says that the planner refused or the run failed.
[[nodiscard]] Result<Measurement> measure_kernel(const MeasurementRequest& request, Operands& operands,
                                                 PeakMeter& peaks);

/// The name of the device that computed.
[[nodiscard]] std::string device_name(const Measurement& measurement);

/// The row that `bench --json` and `ladder --json` share.
[[nodiscard]] Json row_json(const Measurement& measurement);

/// About how long measure_kernel() will take, by the planner's estimate.
[[nodiscard]] double expected_seconds(const MeasurementRequest& request);

/// Seconds of one run, by the planner's estimate; 0 where there is nothing to multiply.
[[nodiscard]] double chosen_cost(const PlanSummary& summary);

/// "what" on stderr where it takes long enough to make one wonder. `compiles`: OpenCL kernels, when they run first.
void announce_cost(const char* what, double seconds, bool compiles = false);

}  // namespace exactile::program
