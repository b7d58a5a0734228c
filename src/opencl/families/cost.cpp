// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/cost.hpp"

namespace exactile::opencl {

double nominal_peak(const Device& device) {
  // OpenCL does not tell how wide a compute unit is: 128 lanes is a current GPU's, two vectors a CPU core's.
  const double lanes = device.is_cpu ? 2.0 * device.vector_width_f32 : 128.0;
  return 2 * lanes * device.compute_units * device.clock_megahertz * 1e6;
}

double estimate(const plan::Problem& problem, const Device& device, double share) {
  const GemmDescription& d = problem.description;
  const double operations = operation_count(d.types, d.m, d.n, d.k) * static_cast<double>(d.batch_count);
  const double slower = size_in_bytes(accumulator_type(d.types.input)) > 4 ? 2 : 1;
  constexpr double launch_seconds = 1e-5;
  return launch_seconds + slower * operations / (share * nominal_peak(device));
}

}  // namespace exactile::opencl
