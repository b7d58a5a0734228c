// SPDX-License-Identifier: Apache-2.0
// Devices with memory of their own.
#include <fmt/format.h>

#include "c_api/convert.hpp"
#include "c_api/failure.hpp"
#include "c_api/handles.hpp"

namespace exactile::c_api {
namespace {

Status no_context() { return null("context", "what exactile_context_make() made"); }
Status no_memory() { return null("memory", "what exactile_device_memory_make() made"); }

Status make_context(const char* backend, std::int32_t device, exactile_context** context) {
  if (context == nullptr) return null("context", "the address of a pointer that becomes the context");
  *context = nullptr;
  if (backend == nullptr) return null("backend", "a backend's name, as exactile_devices_json() lists them");
  const auto known = backend_named(backend);
  if (!known.ok()) return known.status();
  auto made = Context::make(known.value(), device);
  if (!made.ok()) return made.status();
  *context = new exactile_context{std::move(made).value()};
  return {};
}

Status fill_execution(const exactile_context* context, exactile_execution* execution) {
  if (context == nullptr) return no_context();
  const auto known = known_part("execution", execution);
  if (!known.ok()) return known.status();
  const Execution own = context->context.execution();
  execution->queue = own.queue;
  execution->workspace = own.workspace;
  execution->workspace_bytes = own.workspace_bytes;
  execution->path_counts = own.path_counts;
  return {};
}

Status make_memory(const exactile_context* context, std::int64_t bytes, exactile_device_memory** memory) {
  if (memory == nullptr) return null("memory", "the address of a pointer that becomes the memory");
  *memory = nullptr;
  if (context == nullptr) return no_context();
  if (bytes < 0) return {StatusCode::invalid_argument, fmt::format("bytes = {}: expected a size of 0 or more", bytes)};
  auto made = context->context.allocate(bytes);
  if (!made.ok()) return made.status();
  *memory = new exactile_device_memory{std::move(made).value()};
  return {};
}

}  // namespace
}  // namespace exactile::c_api

using exactile::c_api::guarded;

extern "C" {

exactile_status exactile_context_make(const char* backend, int32_t device, exactile_context** context) {
  return guarded([&] { return exactile::c_api::make_context(backend, device, context); });
}

void exactile_context_destroy(exactile_context* context) { delete context; }

exactile_status exactile_context_execution(const exactile_context* context, exactile_execution* execution) {
  return guarded([&] { return exactile::c_api::fill_execution(context, execution); });
}

exactile_status exactile_context_synchronize(const exactile_context* context) {
  return guarded([&] { return context == nullptr ? exactile::c_api::no_context() : context->context.synchronize(); });
}

exactile_status exactile_device_memory_make(const exactile_context* context, int64_t bytes,
                                            exactile_device_memory** memory) {
  return guarded([&] { return exactile::c_api::make_memory(context, bytes, memory); });
}

void exactile_device_memory_destroy(exactile_device_memory* memory) { delete memory; }

void* exactile_device_memory_at(const exactile_device_memory* memory, int64_t offset) {
  if (memory == nullptr || offset < 0 || offset >= memory->memory.bytes()) return nullptr;
  void* place = nullptr;
  static_cast<void>(guarded([&] {
    place = memory->memory.at(offset);
    return exactile::Status();
  }));
  return place;
}

exactile_status exactile_device_memory_upload(exactile_device_memory* memory, const void* from, int64_t bytes,
                                              int64_t offset) {
  return guarded(
      [&] { return memory == nullptr ? exactile::c_api::no_memory() : memory->memory.upload(from, bytes, offset); });
}

exactile_status exactile_device_memory_download(const exactile_device_memory* memory, void* to, int64_t bytes,
                                                int64_t offset) {
  return guarded(
      [&] { return memory == nullptr ? exactile::c_api::no_memory() : memory->memory.download(to, bytes, offset); });
}

}  // extern "C"
