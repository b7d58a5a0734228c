// SPDX-License-Identifier: Apache-2.0
// What the library says of itself: text and JSON into a caller's buffer.
#include <fmt/format.h>

#include <cstring>

#include "c_api/failure.hpp"
#include "c_api/handles.hpp"
#include "documents/documents.hpp"
#include "exactile/devices.hpp"

namespace exactile::c_api {
namespace {

Status hand_over(std::string_view text, char* buffer, std::size_t capacity, std::size_t* needed) {
  if (needed != nullptr) *needed = text.size() + 1;
  if (capacity == 0 && needed != nullptr) return {};
  if (buffer == nullptr || capacity == 0)
    return {StatusCode::invalid_argument,
            fmt::format("buffer = {} with capacity = {}: expected a buffer, or an address for the size that is needed",
                        buffer == nullptr ? "null" : "an address", capacity)};
  buffer[0] = '\0';
  if (capacity <= text.size())
    return {StatusCode::invalid_argument,
            fmt::format("capacity = {}: expected {} bytes or more", capacity, text.size() + 1)};
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return {};
}

Status no_plan() { return {StatusCode::invalid_argument, "plan = null: expected what exactile_plan_make() made"}; }

}  // namespace
}  // namespace exactile::c_api

using exactile::c_api::guarded;

extern "C" {

const char* exactile_version(void) { return exactile::version().data(); }

int64_t exactile_plan_workspace_bytes(const exactile_plan* plan) {
  return plan == nullptr ? 0 : plan->plan.workspace_bytes();
}

exactile_status exactile_plan_explain(const exactile_plan* plan, char* buffer, size_t capacity, size_t* needed) {
  return guarded([&] {
    if (plan == nullptr) return exactile::c_api::no_plan();
    return exactile::c_api::hand_over(plan->plan.explain(), buffer, capacity, needed);
  });
}

exactile_status exactile_plan_explain_json(const exactile_plan* plan, char* buffer, size_t capacity, size_t* needed) {
  return guarded([&] {
    if (plan == nullptr) return exactile::c_api::no_plan();
    return exactile::c_api::hand_over(exactile::documents::explain(plan->plan, plan->accuracy), buffer, capacity,
                                      needed);
  });
}

exactile_status exactile_kernels_json(char* buffer, size_t capacity, size_t* needed) {
  return guarded([&] {
    return exactile::c_api::hand_over(exactile::documents::kernels(exactile::kernels()), buffer, capacity, needed);
  });
}

exactile_status exactile_devices_json(char* buffer, size_t capacity, size_t* needed) {
  return guarded([&] { return exactile::c_api::hand_over(exactile::documents::devices(), buffer, capacity, needed); });
}

}  // extern "C"
