// SPDX-License-Identifier: Apache-2.0
/// \file The commands of the program: each lives in the file of its name.
#pragma once

#include <functional>

#include "failure.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace exactile::program {

/// Adds a command to the command line and answers what it does once the line was parsed.
using Action = std::function<Exit()>;
[[nodiscard]] Action add_bench(CLI::App& command);
[[nodiscard]] Action add_devices(CLI::App& command);
[[nodiscard]] Action add_explain(CLI::App& command);
[[nodiscard]] Action add_kernels(CLI::App& command);
[[nodiscard]] Action add_ladder(CLI::App& command);
[[nodiscard]] Action add_multiply(CLI::App& command);
[[nodiscard]] Action add_tune(CLI::App& command);
[[nodiscard]] Action add_verify(CLI::App& command);

}  // namespace exactile::program
