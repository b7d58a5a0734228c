// SPDX-License-Identifier: Apache-2.0
/// \file
/// From measured products to the coefficients of cost.hpp.
#pragma once

#include <span>

#include "cuda/model/rank.hpp"
#include "exactile/tuning.hpp"

namespace exactile::cuda::model {

/// Sets `rows.rates` and `rows.overheads` so that the formula is as near as it can be to the times of `rows.products`:
/// the mean of |log(estimated / measured)|, which a few outliers do not spoil, is least.
void fit(DeviceRows& rows, std::span<const Kernel* const> kernels);

/// How well products of a type are chosen for whose own times are left out. A choice that is not listed counts as
/// `kept`.
[[nodiscard]] std::vector<ChoiceQuality> cross_validated(const DeviceRows& rows, std::span<const Kernel* const> kernels,
                                                         bool corrected);

}  // namespace exactile::cuda::model
