// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <tuple>

#include "core/environment.hpp"
#include "cuda/kernel_list.hpp"
#include "cuda/model/rank.hpp"
#include "tuning/table/shipped.hpp"

namespace exactile::cuda::model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view heading =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# Measured by `exactile tune --backend cuda`; what the lines say is in src/cuda/model/rows.hpp.\n";

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream stream;
  stream << file.rdbuf();
  return std::move(stream).str();
}

/// The rows of the device, or of the one that is most like it: of its compute capability, else of the nearest; then of
/// its number of SMs.
DeviceRows nearest_rows(const Device& device) {
  std::vector<DeviceRows> all = parse_rows(content_of(user_rows_file()));
  for (DeviceRows& shipped : parse_rows(tuning::cuda_tsv)) all.push_back(std::move(shipped));
  const auto distance = [&](const DeviceRows& rows) {
    return std::tuple(rows.name != device.name, std::abs(rows.facts.compute_capability - device.compute_capability),
                      std::abs(rows.facts.multiprocessors - device.multiprocessors));
  };
  if (all.empty()) return {};
  return *std::ranges::min_element(all, {}, distance);
}

}  // namespace

std::string user_rows_file() {
  if (const auto path = core::environment("EXACTILE_CUDA_ROWS")) return std::string(*path);
  const auto folder = core::cache_folder();
  return folder ? *folder + "/cuda.tsv" : std::string();
}

const DeviceModel& model_of(const Device& device) {
  static std::mutex mutex;
  static auto& models = *new std::map<int, DeviceModel>;  // calls in exit handlers still find it
  const std::lock_guard lock(mutex);
  const auto found = models.find(device.index);
  if (found != models.end()) return found->second;
  return models.emplace(device.index, DeviceModel(device, nearest_rows(device), kernels())).first->second;
}

DeviceRows rows_to_begin_with(const Device& device, const std::string& file) {
  for (DeviceRows& rows : parse_rows(content_of(file)))
    if (rows.name == device.name) return std::move(rows);
  DeviceRows rows = model_of(device).rows();
  rows.name = std::string(device.name);
  rows.facts = device;
  rows.ways.clear();
  rows.products.clear();
  return rows;
}

Status keep(const DeviceRows& rows, const std::string& file) {
  std::string text(heading);
  for (const DeviceRows& other : parse_rows(content_of(file)))
    if (other.name != rows.name) text += to_text(other);
  text += to_text(rows);
  const auto trouble = [&] {
    return Status(StatusCode::invalid_argument,
                  fmt::format("file = {}: cannot be written: {}", file, std::strerror(errno)));
  };
  if (const fs::path folder = fs::path(file).parent_path(); !folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
  }
  const std::string temporary = fmt::format("{}.{}.tmp", file, getpid());
  std::ofstream out(temporary, std::ios::binary);
  out << text;
  out.close();
  if (out && std::rename(temporary.c_str(), file.c_str()) == 0) return {};
  Status status = trouble();
  unlink(temporary.c_str());
  return status;
}

}  // namespace exactile::cuda::model
