// SPDX-License-Identifier: Apache-2.0
/// \file Rates as rows of a tuning file, in femtoseconds; the share in thousandths.
#pragma once

#include "cpu/model/cost.hpp"
#include "tuning/table/rows.hpp"

namespace exactile::cpu {

/// The row under which this processor's rates are found.
[[nodiscard]] tuning::Row row_of(const RatesKey& key, const Rates& rates);

}  // namespace exactile::cpu
