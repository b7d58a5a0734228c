// SPDX-License-Identifier: Apache-2.0
/// \file
/// The untyped face, as a binding for another language uses it: types are values, operands are void pointers, and bad
/// input comes back as a sentence. Takes the name of a type, e.g. `04_untyped f32`; without one it uses i8->i32.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <vector>

#include "exactile/exactile.hpp"

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "i8->i32";
  const std::optional<exactile::GemmTypes> types = exactile::parse_gemm_types(name);
  if (!types) {
    std::cerr << "unknown type '" << name << "'; there are:";
    for (const exactile::GemmTypes& known : exactile::all_gemm_types()) std::cerr << ' ' << exactile::to_string(known);
    std::cerr << '\n';
    return 2;
  }

  constexpr std::int64_t n = 4;
  const exactile::GemmDescription description{
      .types = *types, .m = n, .n = n, .k = n, .a = {.row_stride = n}, .b = {.row_stride = n}, .c = {.row_stride = n}};
  // All-zero bytes are zero in every type, so the product is zero as well, whatever C held.
  const std::vector<std::byte> zeros(static_cast<std::size_t>(n * n * exactile::size_in_bytes(types->input)));
  std::vector<std::byte> c(static_cast<std::size_t>(n * n * exactile::size_in_bytes(types->output)), std::byte{1});
  const exactile::Status status = exactile::gemm(description, {.a = zeros.data(), .b = zeros.data(), .c = c.data()});
  std::cout << exactile::to_string(*types) << ": " << exactile::to_string(status.code()) << ", first byte "
            << static_cast<int>(c[0]) << '\n';

  // C must not be one of the operands; the answer says so, and nothing is written.
  const exactile::Status refused = exactile::gemm(description, {.a = c.data(), .b = zeros.data(), .c = c.data()});
  std::cout << exactile::to_string(refused.code()) << ": " << refused.message() << '\n';
  return status.ok() && !refused.ok() ? 0 : 1;
}
