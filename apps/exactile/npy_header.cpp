// SPDX-License-Identifier: Apache-2.0
#include "npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "failure.hpp"
#include "npy_literal.hpp"
#include "npy_type.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t data_alignment = 64;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = (value << 8U) | std::to_integer<std::uint32_t>(bytes[i - 1]);
  return value;
}

/// The text of the dict, and in `data_offset` where the elements begin.
std::string_view header_text(std::span<const std::byte> file, std::int64_t& data_offset) {
  if (file.empty()) throw HeaderError("the file is empty; expected an .npy file");
  if (as_text(file).starts_with("PK\x03\x04"))
    throw HeaderError("this is a zip archive (.npz?); expected one .npy file, so extract it first");
  const std::string_view start = as_text(file.first(std::min(file.size(), magic.size())));
  if (!magic.starts_with(start)) throw HeaderError("this is not an .npy file: it does not begin with \\x93NUMPY");
  if (file.size() < magic.size() + 4) throw HeaderError("the file is truncated: it ends inside the header");
  const auto version = std::to_integer<int>(file[6]);
  if (version < 1 || version > 3 || file[7] != std::byte{0})
    throw HeaderError(
        fmt::format("its .npy version is {}.{}; expected 1.0, 2.0 or 3.0", version, std::to_integer<int>(file[7])));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t text_offset = magic.size() + 2 + length_bytes;
  if (file.size() < text_offset) throw HeaderError("the file is truncated: it ends inside the header");
  const std::size_t length = little_endian(file.subspan(magic.size() + 2, length_bytes));
  if (file.size() - text_offset < length)
    throw HeaderError(fmt::format("the file is truncated: its header should have {} bytes, {} are there", length,
                                  file.size() - text_offset));
  data_offset = static_cast<std::int64_t>(text_offset + length);
  return as_text(file.subspan(text_offset, length));
}

/// product(shape) * size of an element; zero dimensions do not excuse the others from fitting.
std::int64_t checked_bytes(const std::vector<std::int64_t>& shape, std::int64_t bytes_each) {
  std::int64_t nonzero = bytes_each;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    empty = empty || extent == 0;
    if (__builtin_mul_overflow(nonzero, extent == 0 ? 1 : extent, &nonzero))
      throw HeaderError(fmt::format("its header declares the shape {}, whose size in bytes does not fit in 64 bits",
                                    shape_text(shape)));
  }
  return empty ? 0 : nonzero;
}

NpyHeader parse(std::span<const std::byte> file) {
  NpyHeader header;
  NpyLiteral literal = parse_npy_literal(header_text(file, header.data_offset));
  header.stored = parse_npy_type(literal.descr);
  header.fortran_order = literal.fortran_order;
  header.shape = std::move(literal.shape);
  // What it becomes in memory may be larger than it is in the file, and must fit too.
  const std::int64_t bytes_in_memory = checked_bytes(header.shape, size_in_bytes(header.stored.type));
  header.data_bytes = bytes_in_memory / size_in_bytes(header.stored.type) * header.stored.bytes;
  const std::int64_t held = static_cast<std::int64_t>(file.size()) - header.data_offset;
  if (held != header.data_bytes)
    throw HeaderError(fmt::format("the file is {}: its header declares {} bytes of data (shape {}, {}), it holds {}",
                                  held < header.data_bytes ? "truncated" : "over-long", header.data_bytes,
                                  shape_text(header.shape), literal.descr, held));
  return header;
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& name) {
  try {
    return parse(file);
  } catch (const HeaderError& error) {
    fail(Exit::bad_input, "{}: {}", name, error.what());
  }
}

std::string format_npy_header(ElementType type, const std::vector<std::int64_t>& shape) {
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", npy_descr(type), shape_text(shape));
  // Version 1 holds 65535 bytes of header; 64 dimensions of 19 digits are below 1400.
  const std::size_t unpadded = magic.size() + 4 + dict.size() + 1;
  dict.append((data_alignment - unpadded % data_alignment) % data_alignment, ' ');
  dict += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(dict.size() & 0xffU), static_cast<char>(dict.size() >> 8U)};
  return header + dict;
}

}  // namespace exactile::program
