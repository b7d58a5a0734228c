// SPDX-License-Identifier: Apache-2.0
#include "exactile/status.hpp"

namespace exactile {

std::string_view to_string(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::ok: return "ok";
    case StatusCode::invalid_argument: return "invalid argument";
    case StatusCode::unknown_name: return "unknown name";
    case StatusCode::unsupported: return "unsupported";
    case StatusCode::not_yet_available: return "not yet available";
    case StatusCode::out_of_memory: return "out of memory";
    case StatusCode::device_unavailable: return "device unavailable";
    case StatusCode::device_failure: return "device failure";
  }
  return "unknown status";
}

}  // namespace exactile
