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
  const int calls = demand.bytes <= static_cast<double>(device.l2_bytes) ? calls_of_operands : 1;
  const double moving = demand.bytes / calls / (overheads.share * bandwidth);
  return overheads.launch + std::max(computing, moving) + overheads.overlap * std::min(computing, moving) +
         demand.side_kernels * overheads.side_launch + demand.copied_bytes / (overheads.copy_share * bandwidth) +
         demand.turned_bytes / (overheads.turn_share * bandwidth);
}

}  // namespace exactile::cuda
