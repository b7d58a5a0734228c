// SPDX-License-Identifier: Apache-2.0
/// \file
/// The user's own file of measured rows.
#pragma once

#include "cuda/model/rows.hpp"
#include "exactile/status.hpp"

namespace exactile::cuda::model {

/// $EXACTILE_CUDA_ROWS, or cuda.tsv in the user's cache; empty where there is neither.
[[nodiscard]] std::string user_rows_file();

/// The rows of a file; none where there is no file.
[[nodiscard]] std::vector<DeviceRows> rows_of(const std::string& file);

/// Whether rows can be kept there: see tuning::check_file_of().
[[nodiscard]] Status check_rows_file(const std::string& file);

/// Replaces the device's rows in the file, or adds them; those of other devices stay. See tuning::renew_file().
[[nodiscard]] Status keep(const DeviceRows& rows, const std::string& file);

}  // namespace exactile::cuda::model
