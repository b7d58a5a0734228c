// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is done once kernels have been ranked by their estimates: the fastest of the first few, timed on this machine.
/// FFTW calls such results wisdom; here they are rows of the user's tuning file.
#pragma once

#include <optional>

#include "plan/kernel_entry.hpp"

namespace exactile::plan {

/// A kernel, and the one of its configurations that is to run.
struct Choice {
  const KernelEntry* kernel;
  std::string parameters = {};  ///< for Problem::parameters; "" where the kernel chooses
  std::string why = {};         ///< for people; "" where estimates decided
};

/// Ways in which the kernels that may be chosen would do the product, at most `most`: the two cheapest by estimate,
/// those of other kernels that are near, then the next cheapest ones.
struct Way {
  const KernelEntry* kernel;
  Offer offer;
};
[[nodiscard]] std::vector<Way> cheapest_ways(std::span<const BackendEntry* const> backends, const Problem& problem,
                                             const GemmOptions& options, std::size_t most);

/// The choice that the problem's planning asks for; `by_estimate` is what select() took.
[[nodiscard]] Choice settle(std::span<const BackendEntry* const> backends, const Problem& problem,
                            const GemmOptions& options, const KernelEntry* by_estimate);

/// What an earlier measurement of the very same product on this device found fastest, if it can still be had.
[[nodiscard]] std::optional<Choice> remembered_choice(std::span<const BackendEntry* const> backends,
                                                      const Problem& problem, const GemmOptions& options);

/// Times the first few ways on operands of its own, in the caller's layouts and memory, and adds the fastest to the
/// user's file. Nothing where there is not the memory, where matrices are given by pointers, or where nothing ran.
[[nodiscard]] std::optional<Choice> measured_choice(std::span<const BackendEntry* const> backends,
                                                    const Problem& problem, const GemmOptions& options);

}  // namespace exactile::plan
