// SPDX-License-Identifier: Apache-2.0
#include "verification/device_image.hpp"

#include <vector>

namespace exactile::verification {
namespace {

std::vector<void*> pointers_into(const DeviceMemory& body, const std::vector<std::int64_t>& offsets) {
  std::vector<void*> pointers;
  pointers.reserve(offsets.size());
  for (const std::int64_t offset : offsets) pointers.push_back(body.at(offset));
  return pointers;
}

Result<DeviceMemory> upload_pointers(const Context& context, const std::vector<void*>& pointers) {
  const auto bytes = static_cast<std::int64_t>(pointers.size() * sizeof(void*));
  Result<DeviceMemory> memory = context.allocate(bytes);
  if (!memory.ok()) return memory;
  if (Status s = memory.value().upload(pointers.data(), bytes); !s.ok()) return s;
  return memory;
}

}  // namespace

Result<DeviceImage> DeviceImage::make(const Context& context, const GuardedOperand& operand) {
  const std::span<const std::byte> body = operand.body();
  Result<DeviceMemory> memory = context.allocate(std::ssize(body));
  if (!memory.ok()) return memory.status();
  if (Status s = memory.value().upload(body.data(), std::ssize(body)); !s.ok()) return s;
  DeviceImage image(std::move(memory).value(), operand.first_offset());
  if (!operand.is_pointer_array()) return image;
  image.host_pointers_ = pointers_into(image.body_, operand.product_offsets());
  if (context.backend() == Backend::opencl) return image;
  Result<DeviceMemory> uploaded = upload_pointers(context, image.host_pointers_);
  if (!uploaded.ok()) return uploaded.status();
  image.pointers_.emplace(std::move(uploaded).value());
  return image;
}

void* DeviceImage::argument() const {
  if (pointers_) return pointers_->at();
  return host_pointers_.empty() ? body_.at(first_) : const_cast<void**>(host_pointers_.data());
}

Status DeviceImage::download(GuardedOperand& operand) const {
  const std::span<std::byte> body = operand.body();
  return body_.download(body.data(), std::ssize(body));
}

}  // namespace exactile::verification
