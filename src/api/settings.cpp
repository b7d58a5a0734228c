// SPDX-License-Identifier: Apache-2.0
#include "exactile/settings.hpp"

#include <fmt/format.h>

#include "core/environment.hpp"
#include "cpu/isa.hpp"

namespace exactile {

std::vector<std::string> ignored_settings() {
  constexpr const char* isa = "EXACTILE_MAX_ISA";
  constexpr const char* threads = "EXACTILE_NUM_THREADS";
  std::vector<std::string> ignored;
  if (const auto text = core::environment(isa); text && !cpu::isa_named(*text))
    ignored.push_back(fmt::format("{} = {}: is ignored; expected portable, avx2 or avx512", isa, *text));
  if (const auto text = core::environment(threads); text && !core::environment_count(threads))
    ignored.push_back(fmt::format("{} = {}: is ignored; expected a number of 1 or more", threads, *text));
  return ignored;
}

}  // namespace exactile
