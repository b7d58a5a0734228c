// SPDX-License-Identifier: Apache-2.0
/// \file
/// The comparison behind compare() and run_case().
#pragma once

#include <complex>

#include "verification/bound.hpp"
#include "verification/verification.hpp"

namespace exactile::verification {

/// `exact`: the operands are small integers, so that wherever every intermediate result is exact equality is due.
[[nodiscard]] ErrorReport compare_rows(const GemmDescription& description, const GemmArguments& arguments,
                                       const void* c_before, Accuracy accuracy, double work_limit, bool exact);

/// Which rows, of batch * m counted through, are formed: all of them, or the first and last of each product (as far as
/// they fit) and a spread of others. Ascending.
[[nodiscard]] std::vector<std::int64_t> rows_to_check(const GemmDescription& description, double work_limit);

/// Takes the worse of both.
void merge(ErrorReport& into, const ErrorReport& from);

}  // namespace exactile::verification
