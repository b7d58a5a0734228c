// SPDX-License-Identifier: Apache-2.0
/// \file The commands of the program: each lives in the file of its name.
#pragma once

#include <functional>

#include "command_line.hpp"
#include "failure.hpp"

namespace exactile::program {

/// Adds a command to the command line and answers what it does once the line was parsed.
using Action = std::function<Exit()>;
[[nodiscard]] Action add_bench(CommandLine& command);
[[nodiscard]] Action add_completion(CommandLine& command);
[[nodiscard]] Action add_devices(CommandLine& command);
[[nodiscard]] Action add_doctor(CommandLine& command);
[[nodiscard]] Action add_explain(CommandLine& command);
[[nodiscard]] Action add_kernels(CommandLine& command);
[[nodiscard]] Action add_ladder(CommandLine& command);
[[nodiscard]] Action add_manual(CommandLine& command);
[[nodiscard]] Action add_multiply(CommandLine& command);
[[nodiscard]] Action add_report(CommandLine& command);
[[nodiscard]] Action add_tune(CommandLine& command);
[[nodiscard]] Action add_verify(CommandLine& command);

}  // namespace exactile::program
