// SPDX-License-Identifier: Apache-2.0
#include "verification/guarded_operand.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "verification/elements.hpp"

namespace exactile::verification {
namespace {

constexpr std::size_t least_guard_bytes = 256;

std::size_t round_up(std::size_t bytes, std::size_t page) { return (bytes + page - 1) / page * page; }

}  // namespace

/// In elements, relative to element (0, 0) of product 0 (of its own product in a pointer array).
struct GuardedOperand::Extent {
  std::int64_t low = 0;
  std::int64_t high = -1;
  std::int64_t slots = 1;  ///< how many such stretches there are, one behind another
  bool fits = true;

  [[nodiscard]] std::int64_t length() const { return high - low + 1; }

  static Extent of(std::int64_t rows, std::int64_t columns, const OperandLayout& layout, std::int64_t count) {
    Extent extent;
    if (rows <= 0 || columns <= 0 || count <= 0) return extent;
    extent.high = 0;
    const auto reach = [&](std::int64_t stride, std::int64_t places) {
      std::int64_t far = 0;
      std::int64_t& side = stride < 0 ? extent.low : extent.high;
      if (__builtin_mul_overflow(stride, places - 1, &far) || __builtin_add_overflow(side, far, &side))
        extent.fits = false;
    };
    reach(layout.row_stride, rows);
    reach(layout.column_stride, columns);
    if (layout.pointer_array) {
      extent.slots = count;
    } else {
      reach(layout.batch_stride, count);
    }
    constexpr std::int64_t most_elements = std::int64_t{1} << 40;
    extent.fits = extent.fits && extent.low > -most_elements && extent.high < most_elements &&
                  extent.length() <= most_elements / extent.slots;
    return extent;
  }
};

Result<std::unique_ptr<GuardedOperand>> GuardedOperand::make(ElementType type, std::int64_t rows, std::int64_t columns,
                                                             const OperandLayout& layout, std::int64_t count,
                                                             Flush flush) {
  std::unique_ptr<GuardedOperand> operand(new GuardedOperand(type, rows, columns, layout, count));
  const Extent extent = Extent::of(rows, columns, layout, count);
  const std::int64_t elements = extent.fits ? extent.length() * extent.slots : 0;
  if (!extent.fits || !operand->map(static_cast<std::size_t>(elements * size_in_bytes(type)), flush))
    return Status(StatusCode::out_of_memory,
                  fmt::format("no memory for a {} x {} operand of {} with strides {} and {}, {} times", rows, columns,
                              to_string(type), layout.row_stride, layout.column_stride, count));
  operand->place(extent, operand->lowest_);
  return operand;
}

bool GuardedOperand::map(std::size_t element_bytes, Flush flush) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  body_bytes_ = round_up(element_bytes + least_guard_bytes, page);
  mapping_bytes_ = body_bytes_ + 2 * page;
  void* mapping = mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return false;
  mapping_ = static_cast<std::byte*>(mapping);
  body_ = mapping_ + page;
  if (mprotect(body_, body_bytes_, PROT_READ | PROT_WRITE) != 0) return false;
  std::memset(body_, std::to_integer<int>(pattern), body_bytes_);
  lowest_ = flush == Flush::begin ? body_ : body_ + (body_bytes_ - element_bytes);
  return true;
}

void GuardedOperand::place(const Extent& extent, std::byte* lowest) {
  const std::int64_t bytes = size_in_bytes(type_);
  first_ = lowest - extent.low * bytes;
  if (!layout_.pointer_array) return;
  // Backwards, so that nobody can take the distance of the first two for the distance of all.
  for (std::int64_t p = 0; p < count_; ++p) pointers_.push_back(first_ + (count_ - 1 - p) * extent.length() * bytes);
}

GuardedOperand::~GuardedOperand() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

std::vector<std::int64_t> GuardedOperand::product_offsets() const {
  std::vector<std::int64_t> offsets;
  for (const void* pointer : pointers_) offsets.push_back(static_cast<const std::byte*>(pointer) - body_);
  return offsets;
}

void GuardedOperand::take_snapshot() {
  snapshot_.assign(body_, body_ + body_bytes_);
  snapshot_pointers_.clear();
  for (const void* pointer : pointers_)
    snapshot_pointers_.push_back(snapshot_.data() + (static_cast<const std::byte*>(pointer) - body_));
}

const void* GuardedOperand::before() const {
  if (layout_.pointer_array) return snapshot_pointers_.data();
  return snapshot_.data() + (first_ - body_);
}

std::uint64_t GuardedOperand::digest() const {
  // FNV-1a on words; the body is a number of pages.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t at = 0; at < body_bytes_; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, body_ + at, sizeof word);
    hash = (hash ^ word) * 0x100000001b3U;
  }
  return hash;
}

bool GuardedOperand::surroundings_changed() const {
  std::vector<std::byte> expected(snapshot_);
  const std::int64_t bytes = size_in_bytes(type_);
  for (std::int64_t p = 0; p < count_; ++p) {
    const auto* base = static_cast<const std::byte*>(layout_.pointer_array ? pointers_[static_cast<std::size_t>(p)]
                                                                           : first_ + p * layout_.batch_stride * bytes);
    for (std::int64_t i = 0; i < rows_; ++i) {
      const std::byte* row = base + i * layout_.row_stride * bytes;
      if (layout_.column_stride == 1) {
        std::memcpy(expected.data() + (row - body_), row, static_cast<std::size_t>(columns_ * bytes));
        continue;
      }
      for (std::int64_t j = 0; j < columns_; ++j) {
        const std::byte* element = row + j * layout_.column_stride * bytes;
        std::memcpy(expected.data() + (element - body_), element, static_cast<std::size_t>(bytes));
      }
    }
  }
  return std::memcmp(expected.data(), body_, body_bytes_) != 0;
}

}  // namespace exactile::verification
