// SPDX-License-Identifier: Apache-2.0
#include "exactile/settings.hpp"

#include <fmt/format.h>

#include "core/environment.hpp"
#include "core/thread_count.hpp"
#include "cpu/isa.hpp"

namespace exactile {

std::vector<std::string> ignored_settings() {
  constexpr const char* isa = "EXACTILE_MAX_ISA";
  constexpr const char* threads = "EXACTILE_NUM_THREADS";
  std::vector<std::string> ignored;
  if (const auto text = core::environment(isa); text && !cpu::isa_named(*text))
    ignored.push_back(fmt::format("{} = {}: is ignored; expected {}", isa, *text, cpu::isa_names));
  if (const auto text = core::environment(threads); text && !core::environment_count(threads, core::most_threads))
    ignored.push_back(
        fmt::format("{} = {}: is ignored; expected a number from 1 to {}", threads, *text, core::most_threads));
  return ignored;
}

}  // namespace exactile
