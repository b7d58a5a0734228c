// SPDX-License-Identifier: Apache-2.0
#include "verification/device_image.hpp"

#include <vector>

namespace exactile::verification {
namespace {

/// The device's twin of an operand's array of pointers.
Result<DeviceMemory> upload_pointers(const Context& context, const DeviceMemory& body,
                                     const std::vector<std::int64_t>& offsets) {
  std::vector<void*> pointers;
  for (const std::int64_t offset : offsets) pointers.push_back(body.at(offset));
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
  std::optional<DeviceMemory> pointers;
  if (operand.is_pointer_array()) {
    Result<DeviceMemory> uploaded = upload_pointers(context, memory.value(), operand.product_offsets());
    if (!uploaded.ok()) return uploaded.status();
    pointers.emplace(std::move(uploaded).value());
  }
  return DeviceImage(std::move(memory).value(), std::move(pointers), operand.first_offset());
}

void* DeviceImage::argument() const { return pointers_ ? pointers_->at() : body_.at(first_); }

Status DeviceImage::download(GuardedOperand& operand) const {
  const std::span<std::byte> body = operand.body();
  return body_.download(body.data(), std::ssize(body));
}

}  // namespace exactile::verification
