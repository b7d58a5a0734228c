// SPDX-License-Identifier: Apache-2.0
/// \file
/// For programs that use exceptions. The library itself throws none where it can answer a Status. What answers lists
/// or text (devices(), kernels(), Plan::summary(), Plan::explain()) may throw std::bad_alloc. Only what this header
/// defines throws anything else, in the program.
///
///     auto plan = exactile::value_or_throw(exactile::Plan::make(description));
///     exactile::or_throw(plan.run(arguments));
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "exactile/status.hpp"

namespace exactile {

/// A failure's sentence as what(), and its code.
class Error : public std::runtime_error {
 public:
  explicit Error(Status status) : std::runtime_error(std::string(status.message())), status_(std::move(status)) {}
  [[nodiscard]] const Status& status() const noexcept { return status_; }
  [[nodiscard]] StatusCode code() const noexcept { return status_.code(); }

 private:
  Status status_;
};

/// Throws Error unless the call succeeded.
inline void or_throw(const Status& status) {
  if (!status.ok()) throw Error(status);
}

/// The value; throws Error where there is none.
template <class T>
[[nodiscard]] T value_or_throw(Result<T> result) {
  if (!result) throw Error(result.error());
  return std::move(result).value();
}

}  // namespace exactile
