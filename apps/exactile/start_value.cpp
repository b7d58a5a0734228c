// SPDX-License-Identifier: Apache-2.0
#include "start_value.hpp"

#include <cstring>
#include <vector>

namespace exactile::program {
namespace {

std::int64_t element_count(const NpyInput& array) {
  std::int64_t count = 1;
  for (const std::int64_t extent : array.shape()) count *= extent;
  return count;
}

/// In C order already: strides of dimensions with one index do not matter.
bool c_ordered(const NpyInput& array) {
  std::int64_t expected = 1;
  for (std::size_t i = array.shape().size(); i-- > 0;) {
    if (array.shape()[i] != 1 && array.strides()[i] != expected) return false;
    expected *= array.shape()[i];
  }
  return true;
}

/// Advances a multi-index in C order and answers the element it means in the array's own order.
class Walk {
 public:
  explicit Walk(const NpyInput& array) : array_(array), index_(array.shape().size(), 0) {}

  [[nodiscard]] std::int64_t offset() const { return offset_; }
  void next() {
    for (std::size_t i = index_.size(); i-- > 0;) {
      offset_ += array_.strides()[i];
      if (++index_[i] < array_.shape()[i]) return;
      offset_ -= array_.strides()[i] * array_.shape()[i];
      index_[i] = 0;
    }
  }

 private:
  const NpyInput& array_;
  std::vector<std::int64_t> index_;
  std::int64_t offset_ = 0;
};

}  // namespace

void copy_start_value(const NpyInput& array, std::byte* to) {
  const std::int64_t count = element_count(array);
  const std::int64_t size = size_in_bytes(array.type());
  if (count == 0) return;
  if (c_ordered(array)) {
    std::memcpy(to, array.data(), static_cast<std::size_t>(count * size));
    return;
  }
  Walk walk(array);
  for (std::int64_t i = 0; i < count; ++i, walk.next())
    std::memcpy(to + i * size, array.data() + walk.offset() * size, static_cast<std::size_t>(size));
}

StartValue::StartValue(const NpyInput* array) : array_(array) {
  if (array_ == nullptr || c_ordered(*array_)) return;
  const std::int64_t bytes = element_count(*array_) * size_in_bytes(array_->type());
  require_memory(bytes, array_->path() + ": a copy in C order for --verify");
  copy_ = Mapping::memory(bytes);
  copy_start_value(*array_, copy_.data());
}

const void* StartValue::element(std::int64_t index) const {
  if (array_ == nullptr) return nullptr;
  const std::byte* const first = copy_.data() != nullptr ? copy_.data() : array_->data();
  return first + index * size_in_bytes(array_->type());
}

}  // namespace exactile::program
