// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

#include "cuda/kernel_list.hpp"
#include "cuda/model/rank.hpp"
#include "cuda/model/rows_file.hpp"
#include "cuda/model/shipped.hpp"
#include "tuning/table/file.hpp"

namespace exactile::cuda::model {
namespace {

/// The rows of the device, or of the one that is most like it: of its compute capability, else of the nearest; then of
/// its number of SMs.
DeviceRows nearest_rows(const Device& device) {
  const auto distance = [&](const DeviceRows& rows) {
    return std::tuple(rows.name != device.name, std::abs(rows.facts.compute_capability - device.compute_capability),
                      std::abs(rows.facts.sm_count - device.sm_count));
  };
  const std::string of_user = tuning::content_of(user_rows_file());
  std::string_view text;
  DeviceRows nearest;
  for (const std::string_view one : {std::string_view(of_user), cuda_tsv})
    for (DeviceRows& rows : parse_devices(one))
      if (text.empty() || distance(rows) < distance(nearest)) {
        text = one;
        nearest = std::move(rows);
      }
  return parse_rows(text, nearest.name);
}

}  // namespace

const DeviceModel& model_of(const Device& device) {
  static std::mutex mutex;
  static auto& models = *new std::map<int, DeviceModel>;  // calls in exit handlers still find it
  const std::lock_guard lock(mutex);
  const auto found = models.find(device.index);
  if (found != models.end()) return found->second;
  return models.emplace(device.index, DeviceModel(device, nearest_rows(device), kernels())).first->second;
}

DeviceRows rows_to_begin_with(const Device& device, const std::string& file) {
  for (DeviceRows& rows : rows_of(file))
    if (rows.name == device.name) return std::move(rows);
  DeviceRows rows = model_of(device).rows();
  rows.name = std::string(device.name);
  rows.facts = device;
  rows.ways.clear();
  rows.products.clear();
  return rows;
}

}  // namespace exactile::cuda::model
