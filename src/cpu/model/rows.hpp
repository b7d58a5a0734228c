// SPDX-License-Identifier: Apache-2.0
/// \file Rates as rows of a tuning file, in femtoseconds; the share in thousandths.
#pragma once

#include <string>

#include "cpu/model/cost.hpp"
#include "tuning/table/rows.hpp"

namespace exactile::cpu {

/// Under which name this processor's rows are found. They are fitted to tell apart what a processor has: a guest that
/// is not shown AMX has others.
[[nodiscard]] std::string device_of_rates();

/// The row under which this processor's rates are found.
[[nodiscard]] tuning::Row row_of(const RatesKey& key, const Rates& rates);

}  // namespace exactile::cpu
