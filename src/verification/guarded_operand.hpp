// SPDX-License-Identifier: Apache-2.0
/// \file
/// An operand in a mapping of its own, between pages that cannot be touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exactile/plan.hpp"

namespace exactile::verification {

/// Storage for `count` matrices of a layout. The elements lie flush against an inaccessible page, before or behind
/// them, so that a kernel that reads past them stops at once; the rest of the mapping and the gaps between elements
/// hold a pattern that is NaN in every floating type, so that reading it shows and writing it is found.
class GuardedOperand {
 public:
  enum class Flush : std::uint8_t { begin, end };
  /// All bits set: NaN in every floating type, -1 in every integer.
  static constexpr std::byte pattern{0xff};

  [[nodiscard]] static Result<std::unique_ptr<GuardedOperand>> make(ElementType type, std::int64_t rows,
                                                                    std::int64_t columns, const OperandLayout& layout,
                                                                    std::int64_t count, Flush flush);
  GuardedOperand(const GuardedOperand&) = delete;
  GuardedOperand& operator=(const GuardedOperand&) = delete;
  ~GuardedOperand();

  /// What GemmArguments takes: element (0, 0) of product 0, or the array of pointers.
  [[nodiscard]] void* argument() { return layout_.pointer_array ? static_cast<void*>(pointers_.data()) : first_; }

  /// All of the operand's mapping that may be touched; the offsets below count its bytes.
  [[nodiscard]] std::span<std::byte> body() { return {body_, body_bytes_}; }
  [[nodiscard]] std::span<const std::byte> body() const { return {body_, body_bytes_}; }
  [[nodiscard]] std::int64_t first_offset() const { return first_ - body_; }
  [[nodiscard]] bool is_pointer_array() const { return layout_.pointer_array; }
  /// Where each product begins, in a pointer array.
  [[nodiscard]] std::vector<std::int64_t> product_offsets() const;

  /// Remembers the whole mapping; before() is the copy, addressed as argument() is.
  void take_snapshot();
  [[nodiscard]] const void* before() const;
  /// A digest of the whole mapping.
  [[nodiscard]] std::uint64_t digest() const;
  /// Whether anything but the elements differs from the snapshot.
  [[nodiscard]] bool surroundings_changed() const;

 private:
  struct Extent;
  GuardedOperand(ElementType type, std::int64_t rows, std::int64_t columns, const OperandLayout& layout,
                 std::int64_t count)
      : type_(type), rows_(rows), columns_(columns), layout_(layout), count_(count) {}
  [[nodiscard]] bool map(std::size_t element_bytes, Flush flush);
  void place(const Extent& extent, std::byte* lowest);

  ElementType type_;
  std::int64_t rows_;
  std::int64_t columns_;
  OperandLayout layout_;
  std::int64_t count_;
  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* body_ = nullptr;
  std::size_t body_bytes_ = 0;
  std::byte* lowest_ = nullptr;
  std::byte* first_ = nullptr;
  std::vector<void*> pointers_;
  std::vector<std::byte> snapshot_;
  std::vector<const void*> snapshot_pointers_;
};

}  // namespace exactile::verification
