// SPDX-License-Identifier: Apache-2.0
#include "verification/device_image.hpp"

#include <algorithm>
#include <cstring>

namespace exactile::verification {

/// Arrays of pointers come first, so that what reads past the last body leaves the memory where there is no margin.
DeviceImage::DeviceImage(std::span<GuardedOperand* const> operands, bool keeps_arrays, std::int64_t margin)
    : keeps_arrays_(keeps_arrays) {
  constexpr std::int64_t alignment = 256;
  std::int64_t end = 0;
  for (GuardedOperand* operand : operands) {
    const std::size_t count = operand->product_offsets().size();
    places_.push_back({.operand = operand, .pointers = std::vector<void*>(count), .array = end});
    if (!keeps_arrays)
      end += (static_cast<std::int64_t>(count * sizeof(void*)) + alignment - 1) / alignment * alignment;
  }
  end += margin;
  for (Place& place : places_) {
    place.body = end;
    end += std::ssize(place.operand->body());
  }
  bytes_.assign(static_cast<std::size_t>(end + margin), GuardedOperand::pattern);
}

Result<DeviceImage> DeviceImage::make(const Context& context, std::span<GuardedOperand* const> operands,
                                      std::optional<DeviceMemory> memory, std::int64_t margin) {
  DeviceImage image(operands, context.backend() == Backend::opencl, margin);
  const std::int64_t bytes = std::ssize(image.bytes_);
  if (!memory || memory->bytes() < bytes) {
    memory.reset();
    Result<DeviceMemory> made = context.allocate(bytes);
    if (!made.ok()) return made.status();
    memory.emplace(std::move(made).value());
  }
  image.memory_ = std::move(memory);
  if (Status s = image.upload(); !s.ok()) return s;
  return image;
}

Status DeviceImage::upload() {
  for (Place& place : places_) {
    const std::span<const std::byte> body = place.operand->body();
    std::memcpy(bytes_.data() + place.body, body.data(), body.size());
    const std::vector<std::int64_t> offsets = place.operand->product_offsets();
    for (std::size_t p = 0; p < offsets.size(); ++p) place.pointers[p] = memory_->at(place.body + offsets[p]);
    if (!keeps_arrays_) std::ranges::copy(std::as_bytes(std::span(place.pointers)), bytes_.begin() + place.array);
  }
  return memory_->upload(bytes_.data(), std::ssize(bytes_));
}

std::vector<void*> DeviceImage::arguments() {
  std::vector<void*> all;
  for (Place& place : places_) {
    if (place.pointers.empty())
      all.push_back(memory_->at(place.body + place.operand->first_offset()));
    else
      all.push_back(keeps_arrays_ ? static_cast<void*>(place.pointers.data()) : memory_->at(place.array));
  }
  return all;
}

Status DeviceImage::download() {
  if (Status s = memory_->download(bytes_.data(), std::ssize(bytes_)); !s.ok()) return s;
  for (const Place& place : places_) {
    const std::span<std::byte> body = place.operand->body();
    std::memcpy(body.data(), bytes_.data() + place.body, body.size());
  }
  return {};
}

}  // namespace exactile::verification
