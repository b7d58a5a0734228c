// SPDX-License-Identifier: Apache-2.0
// The CUDA backend as the library sees it: the module's, opened when it is first asked for, or why there is none.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "cuda/backend.hpp"
#include "cuda_module/handshake.hpp"
#include "cuda_module/places.hpp"
#include "plan/grouped.hpp"

namespace exactile::cuda_module {
namespace {

/// What an open module brings.
struct Brought {
  const plan::BackendEntry* backend;
  const plan::Offload* offload;
};
using Module = Result<Brought>;

template <class... Args>
Status absent(fmt::format_string<Args...> format, Args&&... args) {
  return {StatusCode::device_unavailable, fmt::format(format, std::forward<Args>(args)...)};
}

/// A module hands no object back to be unloaded: its kernels stay registered with the driver. Nor may this copy of the
/// library go, whose threads it uses.
void keep_loaded(const std::string& own) {
  if (!own.empty()) static_cast<void>(dlopen(own.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

/// The process that opened a module, and with it the driver; 0: none has.
constinit std::atomic<int> opened_by{0};

Module open_file(const std::string& path) {
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) return absent("the CUDA module cannot be opened: {}", dlerror());
  const auto function = reinterpret_cast<ModuleFunction*>(dlsym(module, function_name));
  if (function == nullptr) return absent("{} is no CUDA module of exactile: it has no {}", path, function_name);
  Handshake handshake{.build_of_library = build_id, .run_team = core::run_team};
  function(&handshake);
  if (handshake.backend == nullptr)
    return absent("{} is of another build of exactile ({}); expected {}", path,
                  handshake.module_build_id == nullptr ? "unknown" : handshake.module_build_id, build_id);
  keep_loaded(own_file());
  opened_by.store(getpid(), std::memory_order_relaxed);
  return Brought{handshake.backend, handshake.offload};
}

Module open_module() {
  // It stays open: the module's CUDA runtime asks for it next.
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr) return absent("no NVIDIA driver is installed");
  const char* const named = secure_getenv("EXACTILE_CUDA_MODULE");  // null for programs with more rights than the user
  const auto places = module_places(named == nullptr || *named == '\0' ? std::nullopt : std::optional(named),
                                    own_file(), getauxval(AT_SECURE) != 0);
  if (!places.ok()) return places.status();
  for (const std::string& path : places.value())
    if (access(path.c_str(), F_OK) == 0) return open_file(path);
  std::string tried;
  for (const std::string& path : places.value()) tried += fmt::format("{}{}", tried.empty() ? "" : ", ", path);
  return absent("the CUDA module is not there: looked for {}", tried);
}

/// Opened under no lock: a thread inside dlopen() may ask for it while another one here waits for the loader's, and a
/// child of fork() inherits locks for good. Where several open it they open the same; the first answer stays.
const Module& module() {
  static constinit std::atomic<const Module*> opened{nullptr};
  if (const Module* known = opened.load(std::memory_order_acquire)) return *known;
  auto mine = std::make_unique<const Module>(open_module());
  const Module* first = nullptr;
  return opened.compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel) ? *mine.release() : *first;
}

std::span<const plan::KernelEntry> kernels() {
  return module().ok() ? module().value().backend->kernels() : std::span<const plan::KernelEntry>();
}

std::vector<DeviceInfo> devices() {
  if (module().ok()) return module().value().backend->devices();
  return {{.backend = Backend::cuda,
           .name = "NVIDIA GPU",
           .available = false,
           .reason = std::string(module().status().message()),
           .properties = {}}};
}

Result<double> measure_peak(GemmTypes types, int device, int threads) {
  return module().ok() ? module().value().backend->measure_peak(types, device, threads) : module().status();
}

Result<std::unique_ptr<plan::DeviceContext>> open_context(int device) {
  if (!module().ok()) return module().status();
  return module().value().backend->open(device);
}

Result<Measurements> measure(const Measuring& measuring) {
  if (!module().ok()) return module().status();
  return module().value().backend->measure(measuring);
}

/// Asked for products of the module's kernels only.
std::unique_ptr<plan::Executable> prepare_scaling(const plan::Problem& problem) {
  return module().value().backend->prepare_scaling(problem);
}

/// The same.
std::string reach_of_bits(const plan::Problem& problem) { return module().value().backend->reach_of_bits(problem); }

Result<std::unique_ptr<plan::GroupedExecutable>> prepare_grouped(const GroupedDescription& description,
                                                                 const GemmOptions& options) {
  if (!module().ok()) return module().status();
  return module().value().backend->prepare_grouped(description, options);
}

}  // namespace
}  // namespace exactile::cuda_module

namespace exactile::cuda {

const plan::BackendEntry& backend() {
  static const plan::BackendEntry entry{.backend = Backend::cuda,
                                        .kernels = cuda_module::kernels,
                                        .devices = cuda_module::devices,
                                        .measure_peak = cuda_module::measure_peak,
                                        .open = cuda_module::open_context,
                                        .prepare_scaling = cuda_module::prepare_scaling,
                                        .measure = cuda_module::measure,
                                        .opens_driver = true,
                                        .reach_of_bits = cuda_module::reach_of_bits,
                                        .prepare_grouped = cuda_module::prepare_grouped};
  return entry;
}

const plan::Offload& offload() {
  using cuda_module::module;
  static const plan::Offload all{
      .backend = &backend(),
      .context_seconds = context_seconds,
      .overlaps_copies = true,
      .why_absent = [] { return std::string_view(); },
      .first_use_seconds = [](int device) { return module().value().offload->first_use_seconds(device); },
      .only_by_name = [](int device) { return module().value().offload->only_by_name(device); },
      .is_pinned = [](const void* memory, std::int64_t bytes,
                      int device) { return module().value().offload->is_pinned(memory, bytes, device); },
      .opened_by = [] { return cuda_module::opened_by.load(std::memory_order_relaxed); },
      .link = [](int device) { return module().value().offload->link(device); }};
  return all;
}

}  // namespace exactile::cuda
