// SPDX-License-Identifier: Apache-2.0
#include "blas/choice.hpp"

#include <cstring>
#include <string>

#include "blas/fallback.hpp"
#include "blas/settings.hpp"

namespace exactile::blas::choice {
namespace {

[[nodiscard]] bool is_asked_for_own() noexcept {
  const char* value = environment("EXACTILE_BLAS_OWN");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

}  // namespace

void* find_faster(char letter, std::string_view stem) noexcept {
  const Vectors here = vectors();
  for (const Measured& row : measured)
    if (row.ratio < parity && is_routine(row.routine, letter, stem) && row.vectors == here)
      return is_asked_for_own() ? nullptr : openblas_routine((std::string(1, letter).append(stem) + '_').c_str());
  return nullptr;
}

void report_fallback() noexcept {
  if (verbose) [[unlikely]]
    Report::says(fallback_name());
}

}  // namespace exactile::blas::choice
