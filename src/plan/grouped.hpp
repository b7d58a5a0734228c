// SPDX-License-Identifier: Apache-2.0
/// \file
/// Grouped products as backends with memory of their own do them.
#pragma once

#include <string>
#include <string_view>

#include "exactile/grouped.hpp"

namespace exactile::plan {

/// A grouped product made ready to run. run() is const, safe to call from many threads at once, and only enqueues. It
/// is called with pointers that are not null, and never for an empty C.
class GroupedExecutable {
 public:
  virtual ~GroupedExecutable() = default;
  [[nodiscard]] virtual Status run(const GroupedArguments& arguments, const Execution& execution) const = 0;
  [[nodiscard]] virtual std::string_view kernel() const = 0;
  [[nodiscard]] virtual std::string blocking() const = 0;
};

}  // namespace exactile::plan
