// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products so small that what counts is the number of calls: one upload, one launch, one download.
#pragma once

#include "plan/kernel_entry.hpp"
#include "staging/stager.hpp"
#include "staging/tiling.hpp"

namespace exactile::staging {

/// Of pinned operands fewer bytes: the device fetches them where they are, and no host copy is as quick.
[[nodiscard]] bool fits_one_piece(const Tiling& tiling, bool all_pinned, const Limits& limits);

/// `kernel` is ready for the whole product.
[[nodiscard]] Status run_in_one_piece(const HostProduct& product, const Tiling& tiling, const GemmArguments& arguments,
                                      const plan::Executable& kernel, Stager& stager);

}  // namespace exactile::staging
