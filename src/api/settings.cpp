// SPDX-License-Identifier: Apache-2.0
#include "exactile/settings.hpp"

#include <fmt/format.h>

#include <atomic>

#include "api/defaults.hpp"
#include "core/environment.hpp"
#include "core/thread_count.hpp"
#include "cpu/isa.hpp"

namespace exactile {
namespace {

constexpr const char* isa = "EXACTILE_MAX_ISA";
constexpr const char* threads = "EXACTILE_NUM_THREADS";
constexpr const char* backend = "EXACTILE_BACKEND";
constexpr const char* device = "EXACTILE_DEVICE";
constexpr const char* device_memory = "EXACTILE_DEVICE_MEMORY";

constexpr int not_set = -1;
constinit std::atomic<int> backend_of_process{not_set};

std::optional<Backend> backend_of_environment() noexcept {
  const auto text = core::environment(backend);
  return text ? parse_backend(*text) : std::nullopt;
}

/// Device 0 is what is meant where nothing is said.
std::optional<int> device_of_environment() noexcept {
  if (core::environment(device) == "0") return 0;
  return core::environment_count(device, api::most_devices);
}

}  // namespace

std::vector<std::string> ignored_settings() {
  std::vector<std::string> ignored;
  const auto check = [&](const char* name, bool is_understood, std::string_view expected) {
    if (const auto text = core::environment(name); text && !is_understood)
      ignored.push_back(fmt::format("{} = {}: is ignored; expected {}", name, *text, expected));
  };
  if (const auto text = core::environment(isa)) check(isa, cpu::isa_named(*text).has_value(), cpu::isa_names);
  check(threads, core::environment_count(threads, core::most_threads).has_value(),
        fmt::format("a number from 1 to {}", core::most_threads));
  check(backend, backend_of_environment().has_value(), "one of: automatic, cpu, cuda, opencl");
  check(device, device_of_environment().has_value(), fmt::format("a number from 0 to {}", api::most_devices));
  check(device_memory, core::environment_bytes(device_memory).has_value(),
        "a number of bytes, or with K, M, G or T behind it");
  return ignored;
}

Backend default_backend() {
  const int set = backend_of_process.load(std::memory_order_relaxed);
  return set != not_set ? static_cast<Backend>(set) : backend_of_environment().value_or(Backend::automatic);
}

void set_default_backend(Backend to) noexcept {
  backend_of_process.store(static_cast<int>(to), std::memory_order_relaxed);
}

namespace api {

int default_device() noexcept { return device_of_environment().value_or(0); }

GemmOptions with_defaults(GemmOptions options) {
  if (options.backend != Backend::automatic || !options.kernel.empty()) return options;
  options.backend = default_backend();
  const bool has_devices = options.backend == Backend::cuda || options.backend == Backend::opencl;
  if (has_devices && options.device == 0) options.device = default_device();
  return options;
}

}  // namespace api
}  // namespace exactile
