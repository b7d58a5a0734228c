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

Faster find_faster(char letter, std::string_view stem) noexcept {
  const Vectors here = vectors();
  for (const Measured& row : measured)
    if (faster_sizes(row) != 0 && is_routine(row.routine, letter, stem) && row.vectors == here && !is_asked_for_own())
      return {openblas_routine((std::string(1, letter).append(stem) + '_').c_str()), faster_sizes(row)};
  return {nullptr, 0};
}

void report_fallback() noexcept {
  if (verbose) [[unlikely]]
    Report::says(fallback_name());
}

}  // namespace exactile::blas::choice
