// SPDX-License-Identifier: Apache-2.0
/// \file What C's handles hold.
#pragma once

#include "exactile.h"
#include "exactile/context.hpp"
#include "exactile/grouped.hpp"
#include "exactile/plan.hpp"

struct exactile_plan {
  exactile::Plan plan;
  exactile::Accuracy accuracy;
};

struct exactile_grouped_plan {
  exactile::GroupedPlan plan;
};

struct exactile_prepared {
  exactile::PreparedOperand operand;
};

struct exactile_context {
  exactile::Context context;
};

struct exactile_device_memory {
  exactile::DeviceMemory memory;
};
