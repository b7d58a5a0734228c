// SPDX-License-Identifier: Apache-2.0
/// \file The ladder's table and its JSON.
#pragma once

#include <string>
#include <vector>

#include "measurement.hpp"

namespace exactile::program {

struct SkippedKernel {
  std::string kernel;
  std::string reason;
};

struct LadderReport {
  std::vector<Measurement> rows;  ///< slowest first
  std::vector<SkippedKernel> skipped;
  std::string fill;
  int threads = 1;
};

/// The time of `cpu_naive` on the same product over this one's; 0 where it is not among the rows.
[[nodiscard]] double speedup(const Measurement& measurement, const std::vector<Measurement>& rows);

/// A line for each reason, with all kernels that it holds for.
void note_skipped(const std::vector<SkippedKernel>& skipped);

enum class LadderText : std::uint8_t {
  terminal,  ///< with bars where stdout is a terminal that is wide enough
  markdown,
};
void print_ladder_text(const LadderReport& report, LadderText as);
/// A line of titles and a line for each kernel, numbers in full, what is not known left empty.
void print_ladder_csv(const LadderReport& report);
void print_ladder_json(const LadderReport& report);

}  // namespace exactile::program
