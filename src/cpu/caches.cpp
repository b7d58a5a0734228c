// SPDX-License-Identifier: Apache-2.0
#include "cpu/caches.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/file.hpp"

namespace exactile::cpu {
namespace {

/// What the C library knows; on AArch64 nothing.
bool ask_sysconf(Caches& result) {
  bool has_answer = false;
  const auto take = [&](int name, std::int64_t& bytes) {
    const long value = sysconf(name);
    if (value <= 0) return;
    bytes = value;
    has_answer = true;
  };
  take(_SC_LEVEL1_DCACHE_SIZE, result.l1);
  take(_SC_LEVEL2_CACHE_SIZE, result.l2);
  take(_SC_LEVEL3_CACHE_SIZE, result.l3);
  return has_answer;
}

/// What Linux knows of the first processor.
void ask_linux(Caches& result) {
  for (int index = 0;; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const auto content = [&](const char* file) { return core::content_of_file(folder + file).value_or(std::string()); };
    const int level = std::atoi(content("level").c_str());
    const std::int64_t kibibytes = std::atoll(content("size").c_str());  // the file says "48K"
    if (level == 0) return;
    if (content("type").starts_with("Instruction") || kibibytes <= 0 || level < 1 || level > 3) continue;
    (level == 1 ? result.l1 : level == 2 ? result.l2 : result.l3) = kibibytes * 1024;
  }
}

/// What follows the colon of the first line of /proc/cpuinfo that begins with `key`; empty if none does.
std::string of_first_processor(std::string_view key) {
  const std::string text = core::content_of_file("/proc/cpuinfo").value_or(std::string());
  for (std::string_view left = text; !left.empty();)
    if (const auto line = core::next_line(left); line.starts_with(key))
      return std::string(line.substr(std::min(line.find(": ") + 2, line.size())));
  return {};
}

/// AArch64's has numbers for a name.
std::string name_of_first_processor() {
  if (std::string name = of_first_processor("model name"); !name.empty()) return name;
  const std::string implementer = of_first_processor("CPU implementer");
  if (implementer.empty()) return "processor";
  return "implementer " + implementer + ", part " + of_first_processor("CPU part");
}

}  // namespace

const Caches& caches() {
  static const Caches found = [] {
    Caches result;
    if (!ask_sysconf(result)) ask_linux(result);
    return result;
  }();
  return found;
}

const std::string& processor_name() {
  static const auto& name = *new std::string(name_of_first_processor());
  return name;
}

const std::string& processor_identity() {
  static const auto& identity = *new std::string([] {
    const std::string vendor = of_first_processor("vendor_id");
    if (vendor.empty()) return name_of_first_processor();
    return vendor + " family " + of_first_processor("cpu family") + " model " + of_first_processor("model");
  }());
  return identity;
}

}  // namespace exactile::cpu
