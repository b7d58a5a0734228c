// SPDX-License-Identifier: Apache-2.0
/// \file
/// The plans of a thread's last one-shot calls, so that a product in a loop is planned once. A thread keeps 64 of them,
/// 2 for each value of a hash of the sizes and strides; they go with it.
///
/// A plan is found by its whole description and options, without allocation. What one was made from
/// besides (the environment, measured rows) is not looked at again, but for the number of threads where that can
/// matter.
#pragma once

#include <memory>

#include "api/plan_state.hpp"

namespace exactile::detail {

/// Null where the thread has no such plan. Valid until the thread remembers another.
[[nodiscard]] const PlanState* remembered_plan(const GemmDescription& description, const GemmOptions& options) noexcept;

/// Keeps the plan in place of an older one, where there is memory to.
void remember_plan(std::shared_ptr<const PlanState> plan) noexcept;

}  // namespace exactile::detail
