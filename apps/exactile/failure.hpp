// SPDX-License-Identifier: Apache-2.0
/// \file How a command ends: its exit code, and the exception that carries a message to main().
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "exactile/status.hpp"

namespace exactile::program {

enum class Exit : int {
  done = 0,
  check_failed = 1,  ///< a product was wrong
  bad_usage = 2,     ///< an argument, or where the output is to go
  bad_input = 3,     ///< an input file
  trouble = 4,       ///< device, memory, or a full disk
};

class Failure : public std::exception {
 public:
  Failure(Exit exit_code, std::string message) : exit_(exit_code), message_(std::move(message)) {}
  [[nodiscard]] Exit exit() const noexcept { return exit_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  Exit exit_;
  std::string message_;
};

template <class... Args>
[[noreturn]] void fail(Exit exit_code, fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(exit_code, fmt::format(format, std::forward<Args>(args)...));
}

/// Why `kernel` did not run, without the name that stands beside it.
[[nodiscard]] std::string refusal(const Status& status, std::string_view kernel);

/// Turns the library's Status into a Failure: what the caller asked for wrongly is usage, the rest is the machine's.
void require(const Status& status);

template <class T>
[[nodiscard]] T require(Result<T> result) {
  if (!result.ok()) require(result.status());
  return std::move(result).value();
}

}  // namespace exactile::program
