// SPDX-License-Identifier: Apache-2.0
// What the library says of itself: text and JSON into a caller's buffer.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "c_api/failure.hpp"
#include "c_api/handles.hpp"
#include "exactile/devices.hpp"

namespace exactile::c_api {
namespace {

using Json = nlohmann::ordered_json;

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

/// What is no UTF-8 (a device's name) and what is no number comes out as a replacement.
std::string to_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

Json explained(const exactile_plan& plan) {
  const PlanSummary summary = plan.plan.summary();
  const GemmDescription& d = plan.plan.description();
  Json json = {{"schema", "exactile.explain/1"},
               {"m", d.m},
               {"n", d.n},
               {"k", d.k},
               {"batch", d.batch_count},
               {"type", to_string(d.types)},
               {"row_scales", d.row_scales},
               {"column_scales", d.column_scales},
               {"accuracy", to_string(plan.accuracy)},
               {"kernel", summary.kernel},
               {"backend", to_string(summary.backend)},
               {"blocking", summary.blocking},
               {"accumulator", summary.accumulator},
               {"threads", summary.threads},
               {"workspace_bytes", summary.workspace_bytes},
               {"operations", summary.operations},
               {"model_bytes", summary.model_bytes},
               {"minimum_bytes", summary.minimum_bytes},
               {"paths", Json::array()},
               {"candidates", Json::array()}};
  for (const Path& path : summary.paths)
    json["paths"].push_back({{"name", path.name}, {"counts", path.counts}, {"when", path.when}});
  for (const Candidate& candidate : summary.candidates) {
    Json configurations = Json::array();
    for (const ConfigurationEstimate& c : candidate.configurations)
      configurations.push_back({{"parameters", c.parameters}, {"cost_seconds", c.seconds}});
    json["candidates"].push_back({{"kernel", candidate.kernel},
                                  {"backend", to_string(candidate.backend)},
                                  {"chosen", candidate.chosen},
                                  {"supported", candidate.supported},
                                  {"reason", candidate.reason},
                                  {"cost_seconds", candidate.cost_seconds},
                                  {"configurations", std::move(configurations)}});
  }
  return json;
}

Json kernel_list() {
  Json json = {{"schema", "exactile.kernels/1"}, {"kernels", Json::array()}};
  for (const KernelInfo& kernel : kernels()) {
    Json types = Json::array();
    for (const GemmTypes pair : kernel.types) types.push_back(to_string(pair));
    json["kernels"].push_back({{"name", kernel.name},
                               {"backend", to_string(kernel.backend)},
                               {"types", std::move(types)},
                               {"role", kernel.role},
                               {"summary", kernel.summary},
                               {"available", kernel.available},
                               {"on_device", kernel.on_device},
                               {"reason", kernel.reason}});
  }
  return json;
}

Json device_list() {
  Json json = {{"schema", "exactile.devices/1"}, {"threads", default_threads()}, {"devices", Json::array()}};
  for (const DeviceInfo& device : devices()) {
    Json properties = Json::object();
    for (const auto& [key, value] : device.properties) properties[key] = value;
    json["devices"].push_back({{"backend", to_string(device.backend)},
                               {"name", device.name},
                               {"available", device.available},
                               {"reason", device.reason},
                               {"properties", std::move(properties)}});
  }
  return json;
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
    return exactile::c_api::hand_over(exactile::c_api::to_text(exactile::c_api::explained(*plan)), buffer, capacity,
                                      needed);
  });
}

exactile_status exactile_kernels_json(char* buffer, size_t capacity, size_t* needed) {
  return guarded([&] {
    return exactile::c_api::hand_over(exactile::c_api::to_text(exactile::c_api::kernel_list()), buffer, capacity,
                                      needed);
  });
}

exactile_status exactile_devices_json(char* buffer, size_t capacity, size_t* needed) {
  return guarded([&] {
    return exactile::c_api::hand_over(exactile::c_api::to_text(exactile::c_api::device_list()), buffer, capacity,
                                      needed);
  });
}

}  // extern "C"
