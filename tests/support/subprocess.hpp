// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace exactile::test {

/// Forks, runs `body` in the child and answers its result; -1 if it was killed, as it is when it takes over a minute.
[[nodiscard]] int exit_code_of_child(const std::function<int()>& body);

/// What a shell command writes to stdout.
[[nodiscard]] std::string output_of(const std::string& command);

}  // namespace exactile::test
