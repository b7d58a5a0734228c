// SPDX-License-Identifier: Apache-2.0
#include "staging/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan/overlap.hpp"

namespace exactile::staging {
namespace {

constexpr std::int64_t most_pointers_looked_at = 256;
constexpr std::int64_t least_line_bytes = 256;  // shorter ones keep the link half idle
constexpr std::int64_t least_product_bytes = 1 << 17;
constexpr std::int64_t most_pitch = (std::int64_t{1} << 31) - 1;  // what copy engines take

struct Extent {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t products;
};

HostMemory kind(const void* base, const plan::Hull& hull, Device& device) {
  return device.kind_of(static_cast<const char*>(base) + hull.low, hull.high - hull.low);
}

/// The least favourable kind of all that an operand consists of.
HostMemory kind(const HostOperand& operand, const void* data, const Extent& extent, ElementType type, Device& device) {
  const OperandLayout& layout = operand.layout();
  if (!layout.pointer_array)
    return kind(data, plan::footprint(layout, extent.rows, extent.columns, extent.products, type).hull, device);
  const plan::Hull hull = plan::footprint(layout, extent.rows, extent.columns, 1, type).hull;
  const auto* pointers = static_cast<const void* const*>(data);
  HostMemory worst = extent.products > most_pointers_looked_at ? HostMemory::pageable : HostMemory::pinned;
  for (std::int64_t p = 0; p < std::min(extent.products, most_pointers_looked_at); ++p) {
    const HostMemory one = kind(pointers[p], hull, device);
    if (one == HostMemory::not_host) return one;
    if (one == HostMemory::pageable) worst = one;
  }
  return worst;
}

}  // namespace

Result<Operands> look_at(const HostProduct& product, const GemmArguments& arguments, Device& device) {
  const GemmDescription& d = product.problem.description;
  Operands operands;
  const auto look = [&](const char* name, const HostOperand& operand, const void* data, const Extent& extent,
                        ElementType type, OperandMemory& memory) -> Status {
    const HostMemory found = kind(operand, data, extent, type, device);
    if (found == HostMemory::not_host)
      return {StatusCode::invalid_argument,
              fmt::format("{} is device memory: expected host memory; Memory::device announces the other", name)};
    memory.is_pinned = found == HostMemory::pinned;
    return {};
  };
  if (Status s = look("a", product.a, arguments.a, {d.m, d.k, d.batch_count}, d.types.input, operands.a); !s.ok())
    return s;
  if (Status s = look("b", product.b, arguments.b, {d.k, d.n, d.batch_count}, d.types.input, operands.b); !s.ok())
    return s;
  if (Status s = look("c", product.c, arguments.c, {d.m, d.n, d.batch_count}, d.types.output, operands.c); !s.ok())
    return s;
  constexpr std::array names{"bias", "row_scales", "column_scales"};  // as vector_sides
  for (std::size_t i = 0; i < vector_sides.size(); ++i) {
    const Side side = vector_sides[i];
    if (!product.has(side)) continue;
    const bool is_column = side == Side::row_scales || (side == Side::bias && d.bias == Bias::per_row);
    const Extent extent = is_column ? Extent{d.m, 1, 1} : Extent{1, d.n, 1};
    const ElementType type = side == Side::bias ? d.types.output : accumulator_type(d.types);
    OperandMemory gathered;  // always by the host
    if (Status s = look(names[i], product.operand(side), data_of(arguments, side), extent, type, gathered); !s.ok())
      return s;
  }
  return operands;
}

bool goes_directly(const HostOperand& operand, const Region& region) {
  const Image image = operand.image(region);
  if (!operand.has_unit_stride()) return false;
  if (image.products > 1 && image.pitch * image.lines_per_product < least_product_bytes) return false;
  if (image.lines_per_product == 1) return true;
  const std::int64_t stride = operand.line_stride_bytes();
  if (stride == image.line_bytes && stride == image.pitch) return true;
  return stride >= image.line_bytes && stride <= most_pitch && image.line_bytes >= least_line_bytes;
}

}  // namespace exactile::staging
