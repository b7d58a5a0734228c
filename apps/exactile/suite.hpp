// SPDX-License-Identifier: Apache-2.0
/// \file `exactile bench --suite`: this library and others on many products, turn by turn.
#pragma once

#include <string>
#include <vector>

#include "failure.hpp"
#include "options.hpp"

namespace exactile::program {

struct SuiteOptions {
  std::string file;
  std::string output;                     ///< "" keeps nothing
  std::vector<std::string> rivals = {};   ///< auto, none, or NAME=PATH[,VARIABLE=VALUE...] each
  std::vector<std::string> types = {};    ///< in place of the file's, unless empty
  std::string accuracy = {};              ///< the same
  std::vector<std::string> kernels = {};  ///< compete beside the planner's choice; "all" takes every one
  ChoiceOptions choice;
  std::string fill = {};  ///< in place of the file's, unless empty
  std::string prepared;
  bool rotates = false;  ///< all products on operands that leave the caches, not vector-like ones alone
  double seconds = 0.5;
  bool json = false;
};

[[nodiscard]] Exit run_suite(const SuiteOptions& options);

}  // namespace exactile::program
