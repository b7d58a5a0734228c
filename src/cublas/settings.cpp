// SPDX-License-Identifier: Apache-2.0
#include "cublas/settings.hpp"

#include <cstdlib>
#include <cstring>

namespace exactile::cublas {
namespace {

bool says(const char* name, const char* value) noexcept {
  const char* text = secure_getenv(name);
  return text != nullptr && std::strcmp(text, value) == 0;
}

}  // namespace

const bool is_on = !says("EXACTILE_CUBLAS", "0") && !says("NVIDIA_TF32_OVERRIDE", "1");
const bool verbose = says("EXACTILE_VERBOSE", "1");

}  // namespace exactile::cublas
