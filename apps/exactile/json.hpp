// SPDX-License-Identifier: Apache-2.0
/// \file --json: versioned documents whose keys keep the order in which they were written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "terminal.hpp"

namespace exactile::program {

using Json = nlohmann::ordered_json;

/// A document of "exactile.<command>/1". The number rises when a key changes its meaning or goes.
[[nodiscard]] inline Json document(std::string_view command) {
  return Json{{"schema", fmt::format("exactile.{}/1", command)}};
}

/// NaN and infinities, which JSON does not have, come out as null.
inline void print_json(const Json& json) {
  write_result(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace exactile::program
