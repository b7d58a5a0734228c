// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scales of rows and columns around kernels that know none: the kernel leaves the sums in C, and what follows them is
/// done in a second pass. Where beta is not zero the old C waits in a copy.
#pragma once

#include <memory>
#include <type_traits>

#include "plan/kernel_entry.hpp"
#include "plan/scales.hpp"

namespace exactile::cpu {

/// `sums` is the product without all that follows its sums; T sums.
template <class T>
[[nodiscard]] std::unique_ptr<plan::Executable> make_scaled(const plan::Problem& problem,
                                                            std::unique_ptr<plan::Executable> sums);

/// What `make` makes of the problem, scaled where it asks for that.
template <class T, class Make>
[[nodiscard]] std::unique_ptr<plan::Executable> with_scales(const plan::Problem& problem, const Make& make) {
  if constexpr (!std::is_floating_point_v<T>) return make(problem);  // has none
  // A C that is narrower than its sums is rounded with all that follows them.
  if (!plan::has_scales(problem.description) || problem.description.types.output != element_type_v<T>)
    return make(problem);
  plan::Problem sums = problem;
  sums.description = plan::sums_alone(problem.description);
  return make_scaled<T>(problem, make(sums));
}

}  // namespace exactile::cpu
