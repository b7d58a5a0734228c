// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "commands.hpp"
#include "core/environment.hpp"
#include "core/thread_count.hpp"
#include "exactile/devices.hpp"
#include "exactile/settings.hpp"
#include "finding.hpp"
#include "json.hpp"
#include "memory.hpp"
#include "terminal.hpp"
#include "tuning/table/table.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(What products find on this machine, and for what is missing why, and what to do about it. Nothing is measured or
changed. Send its output along with a question or a report of a fault.

With PROGRAM: which BLAS it uses. A program is a path, or a name in PATH; a number is a running process;
anything else is a package that Python imports for this, `numpy`, say. LD_PRELOAD and LD_LIBRARY_PATH count as
they would when it is run.

Exit status: 0, whatever is missing.)";

std::string_view to_string(State state) {
  switch (state) {
    case State::found: return "found";
    case State::limited: return "limited";
    case State::missing: return "missing";
  }
  return "";
}

/// What to do about a backend's reason: the first entry whose words are in it.
struct Remedy {
  std::string_view words;
  std::string_view advice;
};
constexpr std::array<Remedy, 11> remedies = {{
    {"the CUDA module is not there", "for NVIDIA GPUs build with nvcc in PATH and -D EXACTILE_CUDA=ON, and install"},
    {"the CUDA module cannot be opened", "install exactile anew, or look at EXACTILE_CUDA_MODULE"},
    {"is no CUDA module of exactile", "unset EXACTILE_CUDA_MODULE, or name libexactile_cuda.so in it"},
    {"is of another build of exactile", "install library and module of one build, or unset EXACTILE_CUDA_MODULE"},
    {"no NVIDIA driver is installed", "if there is an NVIDIA GPU, install its driver: nvidia-smi must list it"},
    {"the NVIDIA driver supports CUDA", "update the driver, or build with an older CUDA toolkit"},
    {"the NVIDIA driver finds no device", "look at CUDA_VISIBLE_DEVICES and at nvidia-smi"},
    {"no OpenCL loader", "install one (Debian: ocl-icd-libopencl1), or name it in EXACTILE_OPENCL_LIBRARY"},
    {"no driver (ICD) is installed", "install the GPU's OpenCL driver, or pocl-opencl-icd for the processor"},
    {"EXACTILE_MAX_ISA", "unset EXACTILE_MAX_ISA"},
    {"processor", "nothing: kernels for what the processor has take their place"},
}};

std::string advice_for(std::string_view reason) {
  for (const Remedy& remedy : remedies)
    if (reason.find(remedy.words) != std::string_view::npos) return std::string(remedy.advice);
  return {};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string properties_text(const DeviceInfo& device) {
  std::string text;
  for (const auto& [key, value] : device.properties) text += fmt::format(", {} {}", key, value);
  return text;
}

/// Kernels of a device that is there, which cannot run all the same: one finding a reason.
void look_at_kernels(Backend backend, Findings& findings) {
  std::map<std::string, int> reasons;
  int available = 0;
  for (const KernelInfo& kernel : kernels()) {
    if (kernel.backend != backend) continue;
    available += kernel.available ? 1 : 0;
    if (!kernel.available) ++reasons[kernel.reason];
  }
  findings.push_back(
      {.topic = fmt::format("{} kernels", to_string(backend)), .what = fmt::format("{} can run", available)});
  for (const auto& [reason, count] : reasons)
    findings.push_back({fmt::format("{} kernels", to_string(backend)), State::limited,
                        fmt::format("{} cannot run", count), reason, advice_for(reason)});
}

void look_at_devices(Findings& findings) {
  std::set<Backend> usable;
  for (const DeviceInfo& device : devices()) {
    Finding finding{.topic = std::string(to_string(device.backend)), .what = device.name + properties_text(device)};
    if (!device.available) {
      finding.state = State::missing;
      finding.why = device.reason;
      finding.advice = advice_for(device.reason);
    }
    findings.push_back(finding);
    if (device.available && usable.insert(device.backend).second) look_at_kernels(device.backend, findings);
  }
}

void look_at_threads(Findings& findings) {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  const int usable = core::usable_processors();
  Finding processors{.topic = "processors", .what = fmt::format("{} of {} usable", usable, online)};
  if (usable < online) {
    processors.state = State::limited;
    processors.why = "the affinity mask or the CPU quota of the control group allows no more";
    processors.advice = "look at taskset -p $$ and at cpu.max of the group, if more were expected";
  }
  findings.push_back(processors);
  Finding threads{.topic = "threads", .what = fmt::format("{} a product by default", default_threads())};
  for (const char* const name : {"EXACTILE_NUM_THREADS", "OMP_NUM_THREADS"}) {
    if (!core::environment_count(name, core::most_threads) || default_threads() == usable) continue;
    threads.state = State::limited;
    threads.why = fmt::format("{} says so", name);
    threads.advice = fmt::format("unset {}, or set it to {}", name, usable);
    break;
  }
  findings.push_back(threads);
}

void look_at_memory(Findings& findings) {
  const double physical = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  findings.push_back({.topic = "memory",
                      .what = fmt::format("{} available of {}", bytes_text(static_cast<double>(available_memory())),
                                          bytes_text(physical))});
  const std::string huge = text_of("/sys/kernel/mm/transparent_hugepage/enabled");
  Finding pages{.topic = "huge pages", .what = huge.empty() ? "unknown to this kernel" : huge};
  if (huge.find("[never]") != std::string::npos || huge.empty()) {
    pages.state = State::limited;
    pages.why = "blocks of large products then take many entries of the processor's tables of addresses";
    pages.advice = "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  }
  findings.push_back(pages);
}

void look_at_tuning(Findings& findings) {
  const std::string file = tuning::user_file();
  if (file.empty()) {
    findings.push_back({"tuning rows", State::missing, "no file", "neither XDG_CACHE_HOME nor HOME is set",
                        "set one of them, or EXACTILE_TUNING_DB"});
    return;
  }
  const tuning::Rows rows = tuning::read_file(file);
  Finding finding{.topic = "tuning rows", .what = fmt::format("{} in {}", rows.rows.size(), file)};
  const Status place = tuning::check_file(file);
  if (!place.ok()) {
    finding.state = State::limited;
    finding.why = std::string(place.message());
    finding.advice = "set EXACTILE_TUNING_DB to a file that can be written";
  } else if (rows.unreadable_lines > 0) {
    finding.state = State::limited;
    finding.why = fmt::format("{} of its lines are damaged or foreign", rows.unreadable_lines);
    finding.advice = "`exactile tune` leaves them out when it writes the file anew";
  } else if (rows.rows.empty()) {
    finding.state = State::missing;
    finding.why = "nothing was measured here; what ships, or an estimate, decides";
    finding.advice = "`exactile tune --backend cpu` (or opencl, cuda) measures, within --time-limit";
  }
  findings.push_back(finding);
}

/// Variables that products look at, and what of them means nothing.
void look_at_environment(Findings& findings) {
  for (const char* const name : {"EXACTILE_CUDA_MODULE", "EXACTILE_CUDA_ROWS", "EXACTILE_MAX_ISA",
                                 "EXACTILE_NUM_THREADS", "EXACTILE_OPENCL_DEVICE", "EXACTILE_OPENCL_LIBRARY",
                                 "EXACTILE_TUNING_DB", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "OCL_ICD_VENDORS"})
    if (const auto value = core::environment(name))
      findings.push_back({.topic = "environment", .what = fmt::format("{}={}", name, *value)});
  for (const std::string& setting : ignored_settings())
    findings.push_back({"environment", State::limited, setting.substr(0, setting.find(':')), setting,
                        "set it to what is expected, or unset it"});
}

/// Limits of the process that operands or threads can meet.
void look_at_limits(Findings& findings) {
  struct Limit {
    const char* name;
    int resource;
    rlim_t enough;
    const char* why;
    const char* advice;
  };
  constexpr rlim_t gigabyte = rlim_t{1} << 30;
  constexpr std::array<Limit, 3> limits = {
      {{"address space", RLIMIT_AS, 64 * gigabyte, "operands and workspaces beyond it are refused",
        "ulimit -v unlimited"},
       {"data", RLIMIT_DATA, 64 * gigabyte, "operands and workspaces beyond it are refused", "ulimit -d unlimited"},
       {"processes", RLIMIT_NPROC, 1024, "a product needs a thread for each processor", "ulimit -u 4096"}}};
  std::string text;
  for (const Limit& limit : limits) {
    rlimit set{};
    if (getrlimit(static_cast<__rlimit_resource>(limit.resource), &set) != 0) continue;
    const bool is_count = limit.resource == RLIMIT_NPROC;
    const std::string value = set.rlim_cur == RLIM_INFINITY ? "unlimited"
                              : is_count                    ? fmt::format("{}", set.rlim_cur)
                                                            : bytes_text(static_cast<double>(set.rlim_cur));
    if (set.rlim_cur < limit.enough)
      findings.push_back({"limits", State::limited, fmt::format("{} {}", limit.name, value), limit.why, limit.advice});
    else
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", limit.name, value);
  }
  if (!text.empty()) findings.push_back({.topic = "limits", .what = text});
}

Findings examine() {
  Findings findings;
  findings.push_back({.topic = "exactile", .what = std::string(version())});
  look_at_threads(findings);
  look_at_memory(findings);
  look_at_limits(findings);
  look_at_devices(findings);
  look_at_system_blas(findings);
  look_at_tuning(findings);
  look_at_environment(findings);
  return findings;
}

void print_text(const Findings& findings) {
  for (const Finding& finding : findings) {
    const std::string topic = fmt::format("{:<16}", finding.topic);
    const std::string state = finding.state == State::found ? "" : fmt::format("{}: ", to_string(finding.state));
    print_result("{} {}{}\n", bold(topic), state, printable(finding.what));
    if (!finding.why.empty()) print_result("{:16}   why: {}\n", "", printable(finding.why));
    if (!finding.advice.empty()) print_result("{:16}   do:  {}\n", "", finding.advice);
  }
}

void print_findings_json(const Findings& findings) {
  Json json = document("doctor");
  json["version"] = version();
  json["findings"] = Json::array();
  for (const Finding& finding : findings)
    json["findings"].push_back({{"topic", finding.topic},
                                {"state", to_string(finding.state)},
                                {"what", finding.what},
                                {"why", finding.why},
                                {"advice", finding.advice}});
  print_json(json);
}

}  // namespace

Action add_doctor(CommandLine& command) {
  const auto json = std::make_shared<bool>(false);
  const auto program = std::make_shared<std::string>();
  command.add_option("PROGRAM", *program, "Say which BLAS this program, process or Python package uses");
  command.add_flag("--json", *json, "As JSON (exactile.doctor/1)");
  command.footer(footer);
  return [json, program] {
    const Findings findings = program->empty() ? examine() : blas_of(*program);
    *json ? print_findings_json(findings) : print_text(findings);
    return Exit::done;
  };
}

}  // namespace exactile::program
