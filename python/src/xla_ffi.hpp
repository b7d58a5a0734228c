// SPDX-License-Identifier: Apache-2.0
/// \file The part of XLA's foreign function interface, version 0.x, that a handler with buffers and one number needs:
/// https://github.com/openxla/xla/blob/main/xla/ffi/api/c_api.h. Every struct begins with its size and a chain of
/// extensions; what later versions add comes at the end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exactile::python::xla {

inline constexpr int major = 0;
inline constexpr int minor = 1;

struct Extension {
  std::size_t size;
  int type;  ///< 1: Metadata
  Extension* next;
};

struct Version {
  std::size_t size = sizeof(Version);
  Extension* extension = nullptr;
  int major = xla::major;
  int minor = xla::minor;
};

struct Metadata {
  std::size_t size;
  Version version;
  std::uint32_t traits;  ///< bit 0: may be captured in a command buffer
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

enum DataType : int {
  s8 = 2,
  s32 = 4,
  s64 = 5,
  u32 = 8,
  u64 = 9,
  f16 = 10,
  f32 = 11,
  f64 = 12,
  c64 = 15,
  bf16 = 16,
  c128 = 18,
  f8e5m2 = 19,
  f8e4m3fn = 20
};

struct Buffer {
  std::size_t size;
  Extension* extension;
  int type;
  void* data;
  std::int64_t rank;
  std::int64_t* extents;
};

/// Arguments, and with the same layout results.
struct Values {
  std::size_t size;
  Extension* extension;
  std::int64_t count;
  int* types;  ///< 1: Buffer
  void** values;
};

struct Scalar {
  int type;
  void* value;
};

struct Attributes {
  std::size_t size;
  Extension* extension;
  std::int64_t count;
  int* types;  ///< 3: Scalar
  void** names;
  void** values;
};

struct Error;

struct CreateError {
  std::size_t size;
  Extension* extension;
  const char* message;
  int code;  ///< 3: invalid argument, 13: internal
};

struct GetStream {
  std::size_t size;
  Extension* extension;
  void* context;
  void* stream;
};

/// The first of the functions that XLA offers.
struct Api {
  std::size_t size;
  Extension* extension;
  Version version;
  const void* internal;
  Error* (*create_error)(CreateError*);
  void (*error_message)(void*);
  void (*destroy_error)(void*);
  Error* (*register_handler)(void*);
  Error* (*get_stream)(GetStream*);
};

struct CallFrame {
  std::size_t size;
  Extension* extension;
  const Api* api;
  void* context;
  int stage;  ///< 3: execute
  Values arguments;
  Values results;
  Attributes attributes;
};

}  // namespace exactile::python::xla
