// SPDX-License-Identifier: Apache-2.0
/// \file
/// What oneDNN's two interfaces share.
#pragma once

#include <string>

#include "comparison/rivals/shared_object.hpp"

namespace exactile::comparison {

[[nodiscard]] std::string onednn_version(const SharedObject& library);

/// oneDNN has no setting of its own: this sets that of the thread runtime it was built with, OpenMP or TBB.
void set_onednn_threads(const SharedObject& library, int threads);

}  // namespace exactile::comparison
