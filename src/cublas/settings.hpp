// SPDX-License-Identifier: Apache-2.0
/// \file What the process's environment says, settled when the library is loaded. A set-uid program's says nothing.
#pragma once

namespace exactile::cublas {

/// False with EXACTILE_CUBLAS=0, and where NVIDIA_TF32_OVERRIDE=1 asks for TF32 in every f32 product: all is forwarded.
extern const bool is_on;

extern const bool verbose;  ///< EXACTILE_VERBOSE is 1

}  // namespace exactile::cublas
