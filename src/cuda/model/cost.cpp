// SPDX-License-Identifier: Apache-2.0
#include "cuda/model/cost.hpp"

#include <algorithm>
#include <cmath>

namespace exactile::cuda {

double seconds(const Demand& demand, const Rates& rates, const Overheads& overheads, const Device& device) {
  const double bandwidth = device.memory_bytes_per_second;
  const auto waves = [&](double slots) {
    const double even = demand.tiles / slots;
    return demand.stream_k ? std::max(even, 1.0) : std::ceil(even);
  };
  const double computing = (waves(demand.slots) + rates.head) * rates.tile +
                           (waves(demand.slots / demand.ctas) + rates.head) * demand.steps * rates.step;
  const double missed = std::clamp(demand.bytes / static_cast<double>(device.l2_bytes), 1.0 / calls_of_operands, 1.0);
  const double moving = demand.bytes * missed / (overheads.share * bandwidth);
  return overheads.launch + std::max(computing, moving) + overheads.overlap * std::min(computing, moving) +
         demand.side_kernels * overheads.side_launch + demand.copied_bytes / (overheads.copy_share * bandwidth) +
         demand.turned_bytes / (overheads.turn_share * bandwidth);
}

}  // namespace exactile::cuda
