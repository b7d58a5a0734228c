// SPDX-License-Identifier: Apache-2.0
#include "c_api/failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace exactile::c_api {
namespace {

/// Of fixed length, so that keeping it can neither fail nor need a destructor at the end of a thread.
constexpr std::size_t most_text = 2048;
constinit thread_local std::array<char, most_text> last_text{};

constexpr std::array<std::pair<StatusCode, exactile_status>, 8> codes{
    {{StatusCode::ok, EXACTILE_OK},
     {StatusCode::invalid_argument, EXACTILE_INVALID_ARGUMENT},
     {StatusCode::unknown_name, EXACTILE_UNKNOWN_NAME},
     {StatusCode::unsupported, EXACTILE_UNSUPPORTED},
     {StatusCode::not_yet_available, EXACTILE_NOT_YET_AVAILABLE},
     {StatusCode::out_of_memory, EXACTILE_OUT_OF_MEMORY},
     {StatusCode::device_unavailable, EXACTILE_DEVICE_UNAVAILABLE},
     {StatusCode::device_failure, EXACTILE_DEVICE_FAILURE}}};

void keep(std::string_view message) noexcept {
  const std::size_t length = std::min(message.size(), most_text - 1);
  std::memcpy(last_text.data(), message.data(), length);
  last_text[length] = '\0';
}

}  // namespace

exactile_status failure(StatusCode code, std::string_view message) noexcept {
  keep(message);
  for (const auto& [ours, theirs] : codes)
    if (ours == code) return theirs;
  return EXACTILE_INTERNAL_FAILURE;
}

Status null(const char* name, const char* expected) {
  return {StatusCode::invalid_argument, fmt::format("{} = null: expected {}", name, expected)};
}

exactile_status internal_failure(const char* what) noexcept {
  keep(what);
  return EXACTILE_INTERNAL_FAILURE;
}

}  // namespace exactile::c_api

extern "C" {

const char* exactile_error_text(void) { return exactile::c_api::last_text.data(); }

const char* exactile_status_name(exactile_status status) {
  for (const auto& [ours, theirs] : exactile::c_api::codes)
    if (theirs == status) return exactile::to_string(ours).data();
  return status == EXACTILE_INTERNAL_FAILURE ? "internal_failure" : "no such status";
}

}  // extern "C"
