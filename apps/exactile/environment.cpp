// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "terminal.hpp"

namespace exactile::program {
namespace {

std::string_view setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool is_isa(std::string_view text) {
  constexpr std::string_view all[] = {"portable", "avx2", "avx512"};
  return std::find(std::begin(all), std::end(all), text) != std::end(all);
}

/// As OpenMP writes it, of which the first number counts: "4" or "4,2".
bool is_count(std::string_view text) {
  const std::string_view first = text.substr(0, text.find(','));
  int count = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), count);
  return error == std::errc() && end == first.data() + first.size() && count > 0;
}

}  // namespace

void note_ignored_settings() {
  if (const std::string_view isa = setting("EXACTILE_MAX_ISA"); !isa.empty() && !is_isa(isa))
    note("exactile: EXACTILE_MAX_ISA = {}: is ignored; expected portable, avx2 or avx512", isa);
  if (const std::string_view threads = setting("EXACTILE_NUM_THREADS"); !threads.empty() && !is_count(threads))
    note("exactile: EXACTILE_NUM_THREADS = {}: is ignored; expected a number of 1 or more", threads);
}

}  // namespace exactile::program
