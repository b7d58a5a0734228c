// SPDX-License-Identifier: Apache-2.0
#include "failure.hpp"

namespace exactile::program {
namespace {

Exit exit_for(StatusCode code) {
  switch (code) {
    case StatusCode::ok: return Exit::done;
    case StatusCode::invalid_argument:
    case StatusCode::unknown_name:
    case StatusCode::unsupported:
    case StatusCode::not_yet_available: return Exit::bad_usage;
    case StatusCode::out_of_memory:
    case StatusCode::device_unavailable:
    case StatusCode::device_failure: return Exit::trouble;
  }
  return Exit::trouble;
}

}  // namespace

std::string refusal(const Status& status, std::string_view kernel) {
  const std::string who = fmt::format("kernel '{}' cannot do this product: ", kernel);
  std::string_view message = status.message();
  if (message.starts_with(who)) message.remove_prefix(who.size());
  return std::string(message);
}

void require(const Status& status) {
  if (!status.ok()) throw Failure(exit_for(status.code()), std::string(status.message()));
}

}  // namespace exactile::program
