// SPDX-License-Identifier: Apache-2.0
/// \file
/// Other libraries, opened at run time.
#pragma once

#include <string>
#include <vector>

#include "comparison/comparison.hpp"

namespace exactile::comparison {

/// Loads a rival from "NAME=PATH[,VARIABLE=VALUE]...". The part of NAME before the first '-' says what kind of library
/// it is ("openblas-newest"); the environment variables are set while the library is loaded.
/// Only rivals that compute where `backend` does are taken: on operands in the context's memory, enqueued on its queue,
/// or on operands in host memory where `context` is null. Throws std::runtime_error with a sentence for a person.
[[nodiscard]] NamedContender load_rival(const std::string& specification, Backend backend, const Context* context);

struct FoundRivals {
  std::vector<NamedContender> rivals;
  std::vector<std::string> absent;  ///< names of kinds of which there is no file
  std::vector<std::string> broken;  ///< a sentence for each file that is there and cannot be used
};
/// Every kind of library whose usual file the loader finds (LD_LIBRARY_PATH counts), or that lies where its vendor's
/// installer puts it.
[[nodiscard]] FoundRivals find_rivals(Backend backend, const Context* context);

}  // namespace exactile::comparison
