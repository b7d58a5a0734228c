// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exactile/status.hpp"

namespace exactile::cuda_module {

/// The file that holds this copy of the library: a shared object, or the program. Empty where its path is not absolute:
/// the working directory may have changed since it was started.
[[nodiscard]] std::string own_file();

/// Where the module may lie, absolute and in the order of trial: what EXACTILE_CUDA_MODULE says alone, else beside
/// `own_file`, in the library folder beside a program's, and in the one of the install. A program with more rights than
/// its user has (`has_more_rights`) takes it from the last alone: a user can link it into a folder of his own.
[[nodiscard]] Result<std::vector<std::string>> module_places(std::optional<std::string_view> named,
                                                             std::string_view own_file, bool has_more_rights);

}  // namespace exactile::cuda_module
