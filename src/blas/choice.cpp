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

unsigned sizes_faster_elsewhere(std::span<const Measured> rows, char letter, std::string_view stem) noexcept {
  const Vectors here = vectors();
  for (const Measured& row : rows)
    if (is_routine(row.routine, letter, stem) && row.vectors == here && !is_asked_for_own()) return faster_sizes(row);
  return 0;
}

void* routine_elsewhere(char letter, std::string_view stem) noexcept {
  return openblas_routine((std::string(1, letter).append(stem) + '_').c_str());
}

void report_fallback() noexcept {
  if (verbose) [[unlikely]]
    Report::says(fallback_name());
}

}  // namespace exactile::blas::choice
