// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plan/kernel_entry.hpp"

namespace exactile::plan {

struct DeviceChoice;

/// For a device other than 0 of what computes on the processor, its backend's only device.
[[nodiscard]] Status no_such_processor(int device, std::string_view who);

/// Asks every kernel of every backend for its verdict and takes the cheapest, or where that one was measured on this
/// device (`exactile tune`) the fastest that was; `options` may narrow the choice to one backend or one kernel.
[[nodiscard]] Result<const KernelEntry*> select(std::span<const BackendEntry* const> backends, const Problem& problem,
                                                const GemmOptions& options);

/// Whether a kernel of this backend may be chosen. Those of others are not asked: that may open a driver.
[[nodiscard]] bool is_asked(const BackendEntry& backend, const GemmOptions& options);

/// The same verdicts in words, in the order of the lists. `chosen` is the processor's kernel, or the one that was asked
/// for; `devices` says what became of the backends that were compared with it.
[[nodiscard]] std::vector<Candidate> explain_candidates(std::span<const BackendEntry* const> backends,
                                                        const Problem& problem, const GemmOptions& options,
                                                        const KernelEntry& chosen, const DeviceChoice& devices);

/// Why a backend lists no kernels, by what it says of its devices.
[[nodiscard]] std::string why_left_out(const BackendEntry& backend);

/// Bytes: each input read once, the output written once; the batch's broadcast operands count once.
struct Traffic {
  double in = 0;
  double out = 0;
};
[[nodiscard]] Traffic least_traffic(const GemmDescription& description);

/// `reach_of_bits`: see BackendEntry.
[[nodiscard]] std::string to_text(const GemmDescription& description, const PlanSummary& summary,
                                  const GemmOptions& options, const AprioriBound& bound,
                                  std::string_view reach_of_bits);

/// Why an entry is out before its own opinion counts; empty if it is not. One vocabulary for select and explain.
[[nodiscard]] std::string_view why_not(const KernelEntry& entry, const Problem& problem, const GemmOptions& options);

}  // namespace exactile::plan
