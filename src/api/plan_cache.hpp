// SPDX-License-Identifier: Apache-2.0
/// \file
/// The plans of a thread's last one-shot calls, so that a product in a loop is planned once. A thread keeps 512 of them
/// (as many as a factorisation of a few thousand columns has shapes to come back to), 2 for each value of a hash of the
/// sizes and strides; they go with it.
///
/// A plain product is found by ten numbers (detail/remembered.hpp), any other by its whole description and options,
/// without allocation. What a plan was made from besides (the environment, measured rows) is not looked at again, but
/// for the number of threads where that can matter, and whether a device that was not ready has become worth it.
#pragma once

#include <memory>

#include "api/plan_state.hpp"

namespace exactile::detail {

/// Keeps the plan in place of an older one, where there is memory to.
void remember_plan(std::shared_ptr<const PlanState> plan) noexcept;

}  // namespace exactile::detail
