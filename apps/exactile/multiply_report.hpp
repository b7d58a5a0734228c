// SPDX-License-Identifier: Apache-2.0
/// \file What `multiply` says when it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exactile/plan.hpp"
#include "verification/verification.hpp"

namespace exactile::program {

struct ArrayReport {
  std::string path;
  std::vector<std::int64_t> shape;
  ElementType type = ElementType::f32;
  bool fortran_order = false;
  bool transposed = false;
};

struct MultiplyReport {
  ArrayReport a;
  ArrayReport b;
  ArrayReport c;
  GemmDescription description;
  PlanSummary summary;
  Accuracy accuracy = Accuracy::standard;
  std::string alpha;
  std::string beta;
  std::string start;       ///< the file of C0, or ""
  std::string row_scales;  ///< the file, or ""
  std::string column_scales;
  double read_seconds = 0;
  double product_seconds = 0;
  double write_seconds = 0;
  std::optional<verification::ErrorReport> error;  ///< with --verify
};

void print_multiply_text(const MultiplyReport& report);
void print_multiply_json(const MultiplyReport& report);

}  // namespace exactile::program
