// SPDX-License-Identifier: Apache-2.0
#include "cuda/model/rows_file.hpp"

#include "core/environment.hpp"
#include "tuning/table/file.hpp"

namespace exactile::cuda::model {
namespace {

constexpr std::string_view heading =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# Measured by `exactile tune --backend cuda`; what the lines say is in src/cuda/model/rows.hpp.\n";
constexpr tuning::FileKind kind{.beginning = heading,
                                .has_rows = [](const std::string& text) { return !parse_rows(text).empty(); }};

}  // namespace

std::string user_rows_file() {
  if (const auto path = core::environment("EXACTILE_CUDA_ROWS")) return std::string(*path);
  const auto folder = core::cache_folder();
  return folder ? *folder + "/cuda.tsv" : std::string();
}

std::vector<DeviceRows> rows_of(const std::string& file) { return parse_rows(tuning::content_of(file)); }

Status check_rows_file(const std::string& file) { return tuning::check_file_of(kind, file); }

Status keep(const DeviceRows& rows, const std::string& file) {
  return tuning::renew_file(kind, file, [&](const std::string& old) {
    std::string text(heading);
    for (const DeviceRows& other : parse_rows(old))
      if (other.name != rows.name) text += to_text(other);
    return text + to_text(rows);
  });
}

}  // namespace exactile::cuda::model
