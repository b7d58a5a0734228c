// SPDX-License-Identifier: Apache-2.0
#include "plan/scratch_operands.hpp"

#include <unistd.h>

#include <array>
#include <cstring>

#include "plan/overlap.hpp"

namespace exactile::plan {
namespace {

/// 0.011 as f32 and bf16, 1.06 as f16, 1.5 and 1 as 8-bit floats.
constexpr int ordinary_byte = 0x3c;

struct Operands {
  Footprint a, b, c;
  Hull bias, row_scales, column_scales;
};

Hull vector_hull(bool is_there, std::int64_t length, ElementType type) {
  return {0, is_there ? length * size_in_bytes(type) : 0};
}

Operands operands_of(const GemmDescription& d) {
  const ElementType sum = accumulator_type(d.types);
  return {.a = footprint(d.a, d.m, d.k, d.batch_count, d.types.input),
          .b = footprint(d.b, d.k, d.n, d.batch_count, d.types.input_b),
          .c = footprint(d.c, d.m, d.n, d.batch_count, d.types.output),
          .bias = vector_hull(d.bias != Bias::none, d.bias == Bias::per_row ? d.m : d.n, d.types.output),
          .row_scales = vector_hull(d.row_scales, d.m, sum),
          .column_scales = vector_hull(d.column_scales, d.n, sum)};
}

double bytes_of(const Operands& o) {
  double bytes = 0;
  for (const Hull& hull : {o.a.hull, o.b.hull, o.c.hull, o.bias, o.row_scales, o.column_scales})
    bytes += static_cast<double>(hull.high) - static_cast<double>(hull.low);
  return bytes;
}

/// What no program and no cache of files holds.
double free_host_bytes() {
  return static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ScratchOperands::~ScratchOperands() {
  for (void* memory : on_device_) context_->release(memory);
}

Result<void*> ScratchOperands::place(std::int64_t low, std::int64_t high) {
  const std::int64_t bytes = high - low;
  if (context_ == nullptr) {
    core::AlignedMemory memory(bytes);
    if (memory.data() == nullptr) return Status(StatusCode::out_of_memory, "no memory for operands to measure with");
    std::memset(memory.data(), ordinary_byte, static_cast<std::size_t>(bytes));
    on_host_.push_back(std::move(memory));
    return static_cast<void*>(static_cast<std::byte*>(on_host_.back().data()) - low);
  }
  const Result<void*> memory = context_->allocate(bytes);
  if (!memory.ok()) return memory.status();
  on_device_.push_back(memory.value());
  if (Status s = context_->fill_bytes(memory.value(), 0, ordinary_byte, bytes); !s.ok()) return s;
  return context_->at(memory.value(), -low);
}

Result<std::unique_ptr<ScratchOperands>> ScratchOperands::make(const Problem& problem, DeviceContext* context) {
  const GemmDescription& d = problem.description;
  if (d.a.pointer_array || d.b.pointer_array || d.c.pointer_array)
    return Status(StatusCode::unsupported, "products given by arrays of pointers are not measured");
  const Operands o = operands_of(d);
  if (context == nullptr && bytes_of(o) > free_host_bytes() / 2)
    return Status(StatusCode::out_of_memory, "operands to measure with would take more than half of the free memory");
  std::unique_ptr<ScratchOperands> made(new ScratchOperands(context));
  GemmArguments& arguments = made->arguments_;
  const auto put = [&](auto& pointer, const Hull& hull) -> Status {
    if (hull.low == hull.high) return {};
    const Result<void*> first = made->place(hull.low, hull.high);
    if (!first.ok()) return first.status();
    pointer = first.value();
    return {};
  };
  for (Status s :
       {put(arguments.a, o.a.hull), put(arguments.b, o.b.hull), put(arguments.c, o.c.hull), put(arguments.bias, o.bias),
        put(arguments.row_scales, o.row_scales), put(arguments.column_scales, o.column_scales)})
    if (!s.ok()) return s;
  return made;
}

}  // namespace exactile::plan
