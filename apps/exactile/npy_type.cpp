// SPDX-License-Identifier: Apache-2.0
#include "npy_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "npy_literal.hpp"

namespace exactile::program {
namespace {

struct Spelling {
  std::string_view descr;  ///< without the byte order
  std::string_view codes;  ///< the letters that mean the same on Linux, 64 bits
  ElementType type;
};

/// Those that are stored as they are multiplied come first: npy_descr() takes the first of a type.
constexpr std::array<Spelling, 13> spellings = {{{"f2", "e", ElementType::f16},
                                                 {"f4", "f", ElementType::f32},
                                                 {"f8", "d", ElementType::f64},
                                                 {"i1", "b", ElementType::i8},
                                                 {"u1", "B", ElementType::u8},
                                                 {"i2", "h", ElementType::i16},
                                                 {"i4", "i", ElementType::i32},
                                                 {"i8", "lqp", ElementType::i64},
                                                 {"c8", "F", ElementType::cf32},
                                                 {"c16", "D", ElementType::cf64},
                                                 {"b1", "?", ElementType::i8},
                                                 {"u2", "H", ElementType::i32},
                                                 {"u4", "I", ElementType::i64}}};

std::int64_t bytes_of(std::string_view descr) {
  std::int64_t bytes = 0;
  for (const char digit : descr.substr(1)) bytes = 10 * bytes + (digit - '0');
  return bytes;
}

void refuse_what_is_no_number(std::string_view kind, std::string_view descr) {
  if (kind.empty()) throw HeaderError("the header's descr is empty");
  switch (kind[0]) {
    case 'O': throw HeaderError("it holds Python objects; expected numbers");
    case 'S':
    case 'U':
    case 'a': throw HeaderError(fmt::format("it holds strings ('{}'); expected numbers", descr));
    case 'V': throw HeaderError(fmt::format("it holds raw or structured data ('{}'); expected numbers", descr));
    default: return;
  }
}

/// The bytes of one part of a number, the least significant first.
template <class T>
T part(const std::byte* from, bool big_endian) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (big_endian) std::ranges::reverse(bytes);
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <class From, class To>
void convert_parts(bool big_endian, std::int64_t count, const std::byte* from, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<To>(part<From>(from + i * static_cast<std::int64_t>(sizeof(From)), big_endian));
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof(To)), &value, sizeof(To));
  }
}

}  // namespace

bool StoredType::needs_conversion() const {
  return kind == 'b' || (kind == 'u' && bytes > 1) || bytes != size_in_bytes(type) || (big_endian && bytes > 1);
}

StoredType widened(StoredType stored) {
  if (stored.type == ElementType::u8 || stored.type == ElementType::i16) stored.type = ElementType::i32;
  return stored;
}

StoredType parse_npy_type(std::string_view descr) {
  const bool ordered = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string_view name = ordered ? descr.substr(1) : descr;
  for (const Spelling& spelling : spellings)
    if (name == spelling.descr || (name.size() == 1 && spelling.codes.find(name[0]) != std::string_view::npos))
      return {spelling.descr[0], bytes_of(spelling.descr), descr[0] == '>', spelling.type};
  refuse_what_is_no_number(name, descr);
  std::string names;
  for (const Spelling& spelling : spellings) names += fmt::format(" {}", spelling.descr);
  throw HeaderError(fmt::format("its type '{}' is none that is multiplied; expected one of{}", descr, names));
}

std::string npy_descr(ElementType type) {
  for (const Spelling& spelling : spellings)
    if (spelling.type == type) return fmt::format("{}{}", size_in_bytes(type) == 1 ? '|' : '<', spelling.descr);
  return "";
}

void convert(const StoredType& stored, std::int64_t count, const std::byte* from, std::byte* to) {
  const bool big = stored.big_endian;
  switch (stored.kind) {
    case 'b': std::transform(from, from + count, to, [](std::byte x) { return std::byte{x != std::byte{0}}; }); return;
    case 'u':
      if (stored.bytes == 1) return convert_parts<std::uint8_t, std::int32_t>(big, count, from, to);
      if (stored.bytes == 2) return convert_parts<std::uint16_t, std::int32_t>(big, count, from, to);
      return convert_parts<std::uint32_t, std::int64_t>(big, count, from, to);
    default: break;
  }
  if (stored.kind == 'i' && stored.bytes == 2 && stored.type == ElementType::i32)
    return convert_parts<std::int16_t, std::int32_t>(big, count, from, to);
  // Only the order of the bytes differs; a complex number is two reals.
  const std::int64_t parts = stored.kind == 'c' ? 2 : 1;
  switch (stored.bytes / parts) {
    case 2: return convert_parts<std::uint16_t, std::uint16_t>(big, count * parts, from, to);
    case 4: return convert_parts<std::uint32_t, std::uint32_t>(big, count * parts, from, to);
    default: return convert_parts<std::uint64_t, std::uint64_t>(big, count * parts, from, to);
  }
}

}  // namespace exactile::program
