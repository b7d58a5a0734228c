// SPDX-License-Identifier: Apache-2.0
#include "plan/scratch_operands.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/checked.hpp"

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

template <class Pointer>
Status ScratchOperands::place(Pointer GemmArguments::*operand, const Hull& hull) {
  constexpr std::int64_t alignment = 256;
  if (hull.low == hull.high) return {};
  const auto copies = static_cast<std::int64_t>(copies_.size());
  const std::int64_t step = core::round_up(hull.high - hull.low, alignment);
  if (context_ == nullptr) {
    core::AlignedMemory memory(copies * step);
    if (memory.data() == nullptr) return {StatusCode::out_of_memory, "no memory for operands to measure with"};
    std::memset(memory.data(), ordinary_byte, static_cast<std::size_t>(copies * step));
    for (std::int64_t i = 0; i < copies; ++i)
      copies_[static_cast<std::size_t>(i)].*operand = static_cast<std::byte*>(memory.data()) + i * step - hull.low;
    on_host_.push_back(std::move(memory));
    return {};
  }
  const Result<void*> memory = context_->allocate(copies * step);
  if (!memory.ok()) return memory.status();
  on_device_.push_back(memory.value());
  if (Status s = context_->fill_bytes(memory.value(), 0, ordinary_byte, copies * step); !s.ok()) return s;
  for (std::int64_t i = 0; i < copies; ++i)
    copies_[static_cast<std::size_t>(i)].*operand = context_->at(memory.value(), i * step - hull.low);
  return {};
}

Result<std::unique_ptr<ScratchOperands>> ScratchOperands::make(const Problem& problem, DeviceContext* context,
                                                               double cold_bytes) {
  constexpr double most_copies = 512;
  const GemmDescription& d = problem.description;
  if (d.a.pointer_array || d.b.pointer_array || d.c.pointer_array)
    return Status(StatusCode::unsupported, "products given by arrays of pointers are not measured");
  const Operands o = operands_of(d);
  if (context == nullptr && bytes_of(o) > free_host_bytes() / 2)
    return Status(StatusCode::out_of_memory, "operands to measure with would take more than half of the free memory");
  const auto copies = static_cast<std::size_t>(std::clamp(cold_bytes / bytes_of(o), 1.0, most_copies));
  std::unique_ptr<ScratchOperands> made(new ScratchOperands(context, copies));
  for (Status s : {made->place(&GemmArguments::a, o.a.hull), made->place(&GemmArguments::b, o.b.hull),
                   made->place(&GemmArguments::c, o.c.hull), made->place(&GemmArguments::bias, o.bias),
                   made->place(&GemmArguments::row_scales, o.row_scales),
                   made->place(&GemmArguments::column_scales, o.column_scales)})
    if (!s.ok()) return s;
  return made;
}

}  // namespace exactile::plan
