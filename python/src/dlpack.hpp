// SPDX-License-Identifier: Apache-2.0
/// \file The part of DLPack 1.1 that a consumer needs: https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace exactile::python::dlpack {

namespace nb = nanobind;

inline constexpr std::uint32_t major = 1;
inline constexpr std::uint32_t minor = 1;

enum DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
struct Device {
  std::int32_t type;
  std::int32_t index;
};

enum Code : std::uint8_t {
  integer = 0,
  unsigned_integer = 1,
  real = 2,
  bfloat = 4,
  complex = 5,
  float8_e4m3fn = 10,
  float8_e5m2 = 12
};
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  friend bool operator==(const DataType&, const DataType&) = default;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t dimensions;
  DataType type;
  std::int64_t* shape;
  std::int64_t* strides;  ///< may be null: contiguous by rows
  std::uint64_t byte_offset;
};

/// Before version 1.
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

struct ManagedVersioned {
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;  ///< bit 0: read only
  Tensor tensor;
};

/// A tensor that this side owns now.
struct Taken {
  const Tensor* tensor;
  bool read_only;
  nb::object keeper;  ///< gives the tensor back to its producer when it goes
};

template <class T>
void give_back(void* managed) noexcept {
  auto* own = static_cast<T*>(managed);
  if (own->deleter != nullptr) own->deleter(own);
}

template <class T>
nb::object keep(nb::handle capsule, T* managed, const char* used) {
  nb::object keeper = nb::capsule(managed, give_back<T>);
  if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
  return keeper;
}

/// Takes the tensor out of the capsule that `__dlpack__` answered, which cannot be used again.
inline Taken take(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* managed = static_cast<ManagedVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != major) throw nb::buffer_error("DLPack: the producer speaks another major version than 1");
    return {&managed->tensor, (managed->flags & 1) != 0, keep(capsule, managed, "used_dltensor_versioned")};
  }
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw nb::python_error();
  return {&managed->tensor, false, keep(capsule, managed, "used_dltensor")};
}

}  // namespace exactile::python::dlpack
