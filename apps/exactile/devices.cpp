// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <string>

#include "commands.hpp"
#include "documents/documents.hpp"
#include "measurement.hpp"
#include "terminal.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(Backends, their devices in the order that --device counts, and why one cannot be used. The processor's
properties tell the instruction set that kernels are chosen by (EXACTILE_MAX_ISA: portable, avx2, avx512 or
avx512_vnni takes wider ones away) and the threads a call takes by default (EXACTILE_NUM_THREADS,
OMP_NUM_THREADS).)";

struct Options {
  bool peak = false;
  bool json = false;
};

/// Measured only when asked for: it keeps every core busy for a moment.
documents::Peaks measured_peaks(const DeviceInfo& device, int index, const Options& options) {
  documents::Peaks peaks;
  if (!options.peak || !device.available) return peaks;
  PeakMeter meter(0);
  for (const ElementType type : {ElementType::f32, ElementType::f64})
    if (const auto peak = meter.peak(device.backend, {type, type}, index)) peaks.push_back({{type, type}, *peak});
  return peaks;
}

void print_device(const DeviceInfo& device, int index, const Options& options) {
  print_result("{}: {}{}\n", bold(std::string(to_string(device.backend))),
               device.name.empty() ? "no device" : device.name,
               device.available ? "" : fmt::format(" (not available: {})", device.reason));
  for (const auto& [key, value] : device.properties) print_result("    {:<14} {}\n", key, value);
  for (const auto& [types, peak] : measured_peaks(device, index, options))
    print_result("    {:<14} {:.0f} GFLOP/s, measured{}\n", "peak " + to_string(types), peak * 1e-9,
                 device.backend == Backend::cpu ? fmt::format(" on {} threads", default_threads()) : "");
}

void print_devices_json(const Options& options) {
  const auto measure = [&](const DeviceInfo& device, int index) { return measured_peaks(device, index, options); };
  write_result((options.peak ? documents::devices(measure) : documents::devices()) + "\n");
}

void print_devices(const Options& options) {
  std::map<Backend, int> counts;
  for (const DeviceInfo& device : devices()) print_device(device, counts[device.backend]++, options);
}

}  // namespace

Action add_devices(CommandLine& command) {
  const auto options = std::make_shared<Options>();
  command.add_flag("--peak", options->peak, "Measure how fast each device multiplies and adds (f32, f64)");
  command.add_flag("--json", options->json, "As JSON (exactile.devices/1)");
  command.footer(footer);
  return [options] {
    options->json ? print_devices_json(*options) : print_devices(*options);
    return Exit::done;
  };
}

}  // namespace exactile::program
