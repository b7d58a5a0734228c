// SPDX-License-Identifier: Apache-2.0
/// \file From the structs of exactile.h to those of the C++ interface, with what C callers can get wrong said in words.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "exactile.h"
#include "exactile/plan.hpp"

namespace exactile::c_api {

/// The element type of a number from C; nothing for what is none.
[[nodiscard]] std::optional<ElementType> element_type(std::int64_t type) noexcept;

[[nodiscard]] Result<GemmDescription> description(const exactile_gemm_description* from);
/// "" is automatic; fails with unknown_name.
[[nodiscard]] Result<Backend> backend_named(const std::string& name);
[[nodiscard]] Result<GemmOptions> options(const exactile_gemm_options* from);
[[nodiscard]] Result<Execution> execution(const exactile_execution* from);
/// All but the prepared operands, which are the caller's to unwrap. alpha and beta are read as numbers of the type that
/// sums products of these types.
[[nodiscard]] Result<GemmArguments> arguments(const exactile_gemm_arguments& from, GemmTypes types);

/// The fault of a struct whose caller knows `given` bytes of it where this library knows `known` and version 0.1 had
/// `least`: too short, or with unknown fields that are set.
[[nodiscard]] Status check_size(const char* name, const void* from, std::size_t least, std::size_t known);

/// A copy of a caller's struct in this library's size, the fields that the caller does not know zero. All structs begin
/// with their size; those of version 0.1 are as long as T is now.
template <class T>
[[nodiscard]] Result<T> known_part(const char* name, const T* from) {
  if (Status s = check_size(name, from, sizeof(T), sizeof(T)); !s.ok()) return s;
  T copy{};
  std::memcpy(&copy, from, sizeof(T));
  return copy;
}

}  // namespace exactile::c_api
