// SPDX-License-Identifier: Apache-2.0
#include "blas/choice.hpp"

#include <strings.h>

#include <algorithm>
#include <array>
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

/// Whether an OpenBLAS computes with this instruction set, or a wider one: rows were measured so. Where a virtual
/// machine hides the processor's model its kernels are those of any processor.
[[nodiscard]] bool computes_with(Vectors vectors) noexcept {
  using CoreName = const char* (*)();
  const auto core_name = reinterpret_cast<CoreName>(openblas_routine("openblas_get_corename"));
  if (core_name == nullptr) return false;
  constexpr std::array<const char*, 5> cores{"SkylakeX", "Cooperlake", "SapphireRapids", "Haswell", "Zen"};
  constexpr std::ptrdiff_t with_avx512 = 3;
  const auto last = vectors == Vectors::avx512 ? cores.begin() + with_avx512 : cores.end();
  const char* const here = core_name();  // in capitals where it was built for one processor
  return std::any_of(cores.begin(), last, [&](const char* core) { return strcasecmp(core, here) == 0; });
}

}  // namespace

unsigned sizes_faster_elsewhere(std::span<const Measured> rows, char letter, std::string_view stem) noexcept {
  const Vectors here = vectors();
  for (const Measured& row : rows)
    if (is_routine(row.routine, letter, stem) && row.vectors == here && !is_asked_for_own()) return faster_sizes(row);
  return 0;
}

void* routine_elsewhere(char letter, std::string_view stem) noexcept {
  static const bool is_as_measured = computes_with(vectors());
  if (!is_as_measured) return nullptr;
  return openblas_routine((std::string(1, letter).append(stem) + '_').c_str());
}

void report_fallback() noexcept {
  if (verbose) [[unlikely]]
    Report::says(fallback_name());
}

}  // namespace exactile::blas::choice
