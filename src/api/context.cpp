// SPDX-License-Identifier: Apache-2.0
#include "exactile/context.hpp"

#include <fmt/format.h>

#include <utility>

#include "api/backends.hpp"
#include "api/guarded.hpp"

namespace exactile {
namespace detail {

class ContextState {
 public:
  ContextState(std::unique_ptr<plan::DeviceContext> device_context, Backend backend_kind, int index)
      : context(std::move(device_context)), backend(backend_kind), device(index) {}
  std::unique_ptr<plan::DeviceContext> context;
  Backend backend;
  int device;
};

}  // namespace detail

namespace {

Status invalid(std::string message) { return {StatusCode::invalid_argument, std::move(message)}; }

Status check_range(const char* what, std::int64_t bytes, std::int64_t offset, std::int64_t size) {
  if (bytes >= 0 && offset >= 0 && offset <= size && bytes <= size - offset) return {};
  return invalid(fmt::format("{} of {} bytes at offset {}: expected a stretch inside the memory's {} bytes", what,
                             bytes, offset, size));
}

}  // namespace

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : state_(std::move(other.state_)), memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (memory_ != nullptr) state_->context->release(memory_);
}

void* DeviceMemory::at(std::int64_t offset) const { return state_->context->at(memory_, offset); }

Status DeviceMemory::upload(const void* from, std::int64_t bytes, std::int64_t offset) {
  if (Status s = check_range("upload", bytes, offset, bytes_); !s.ok()) return s;
  if (bytes == 0) return {};
  if (from == nullptr) return invalid(fmt::format("from = null: expected {} bytes of host memory", bytes));
  return state_->context->upload(memory_, offset, from, bytes);
}

Status DeviceMemory::download(void* to, std::int64_t bytes, std::int64_t offset) const {
  if (Status s = check_range("download", bytes, offset, bytes_); !s.ok()) return s;
  if (bytes == 0) return {};
  if (to == nullptr) return invalid(fmt::format("to = null: expected {} bytes of host memory", bytes));
  return state_->context->download(to, memory_, offset, bytes);
}

Status DeviceMemory::fill_bytes(int value) {
  return bytes_ == 0 ? Status() : state_->context->fill_bytes(memory_, 0, value, bytes_);
}

Result<Context> Context::make(Backend backend, int device) {
  return api::guarded([&]() -> Result<Context> {
    for (const plan::BackendEntry* entry : api::backends()) {
      if (entry->backend != backend) continue;
      if (entry->open == nullptr)
        return Status(StatusCode::unsupported,
                      fmt::format("backend '{}' computes in host memory; expected one whose devices have their own",
                                  to_string(backend)));
      auto opened = entry->open(device);
      if (!opened.ok()) return opened.status();
      return Context(std::make_shared<detail::ContextState>(std::move(opened).value(), entry->backend, device));
    }
    return Status(StatusCode::invalid_argument,
                  fmt::format("backend = {}: expected the one whose device is to be opened", to_string(backend)));
  });
}

Result<DeviceMemory> Context::allocate(std::int64_t bytes) const {
  if (bytes < 0) return invalid(fmt::format("bytes = {}: expected 0 or more", bytes));
  auto memory = state_->context->allocate(bytes);
  if (!memory.ok()) return memory.status();
  return DeviceMemory(state_, memory.value(), bytes);
}

Result<PitchedMemory> Context::allocate_pitched(std::int64_t rows, std::int64_t columns, ElementType type) const {
  constexpr std::int64_t pitch_bytes = 512;
  const std::int64_t size = size_in_bytes(type);
  std::int64_t row_bytes = 0;
  std::int64_t bytes = 0;
  if (rows < 0 || columns < 0 || __builtin_mul_overflow(columns, size, &row_bytes) ||
      __builtin_add_overflow(row_bytes, pitch_bytes - 1, &row_bytes) ||
      __builtin_mul_overflow(row_bytes / pitch_bytes * pitch_bytes, rows, &bytes))
    return invalid(fmt::format("rows = {}, columns = {}: expected sizes whose product fits in 64 bits", rows, columns));
  auto memory = allocate(bytes);
  if (!memory.ok()) return memory.status();
  return PitchedMemory{std::move(memory).value(), row_bytes / pitch_bytes * pitch_bytes / size};
}

Execution Context::execution() const { return state_->context->execution(); }

Status Context::synchronize() const { return state_->context->synchronize(); }

Result<double> Context::time(const std::function<Status()>& enqueue) const { return state_->context->time(enqueue); }

Backend Context::backend() const noexcept { return state_->backend; }

int Context::device() const noexcept { return state_->device; }

}  // namespace exactile
