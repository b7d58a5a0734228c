// SPDX-License-Identifier: Apache-2.0
#include "documents/documents.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace exactile::documents {
namespace {

using Json = nlohmann::ordered_json;

/// What is no UTF-8 (a device's name) and what is no number comes out as a replacement.
std::string to_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string explain(const Plan& plan, Accuracy accuracy) {
  const PlanSummary summary = plan.summary();
  const GemmDescription& d = plan.description();
  const AprioriBound bound = plan.error_bound();
  Json json = {{"schema", "exactile.explain/1"},
               {"m", d.m},
               {"n", d.n},
               {"k", d.k},
               {"batch", d.batch_count},
               {"type", to_string(d.types)},
               {"row_scales", d.row_scales},
               {"column_scales", d.column_scales},
               {"accuracy", to_string(accuracy)},
               {"kernel", summary.kernel},
               {"backend", to_string(summary.backend)},
               {"blocking", summary.blocking},
               {"accumulator", summary.accumulator},
               {"threads", summary.threads},
               {"workspace_bytes", summary.workspace_bytes},
               {"operations", summary.operations},
               {"model_bytes", summary.model_bytes},
               {"minimum_bytes", summary.minimum_bytes},
               {"error_bound", {{"of_result", bound.of_result}, {"of_terms", bound.of_terms}}},
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
  return to_text(json);
}

std::string kernels(std::span<const KernelInfo> list) {
  Json json = {{"schema", "exactile.kernels/1"}, {"kernels", Json::array()}};
  for (const KernelInfo& kernel : list) {
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
  return to_text(json);
}

std::string devices(const std::function<Peaks(const DeviceInfo&, int)>& measure) {
  Json json = {{"schema", "exactile.devices/1"}, {"threads", default_threads()}, {"devices", Json::array()}};
  std::map<Backend, int> counts;
  for (const DeviceInfo& device : exactile::devices()) {
    const int index = counts[device.backend]++;
    Json properties = Json::object();
    for (const auto& [key, value] : device.properties) properties[key] = value;
    Json entry = {{"backend", to_string(device.backend)},
                  {"name", device.name},
                  {"available", device.available},
                  {"reason", device.reason},
                  {"properties", std::move(properties)}};
    if (measure) {
      constexpr double giga = 1e9;
      Json& peaks = entry["peak_gflops"] = Json::object();
      for (const auto& [types, peak] : measure(device, index)) peaks[to_string(types)] = peak / giga;
    }
    json["devices"].push_back(std::move(entry));
  }
  return to_text(json);
}

}  // namespace exactile::documents
