// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/panels.hpp"

#include "core/checked.hpp"
#include "opencl/kernel_sources.hpp"

namespace exactile::opencl {

using core::ceil_divide;
using core::round_up;

std::int64_t Side::padded_lines() const { return round_up(lines, panel); }

Status enqueue_pack(const Launch& launch, const Side& side, const BufferSpan& span, ElementType type, cl_mem panels,
                    const PanelRange& range, const std::string& options) {
  constexpr std::int64_t serial_terms = 256;
  const bool is_serial = launch.runtime.device().is_cpu;
  const std::string serial = is_serial ? fmt::format(" -D SERIAL={}", serial_terms) : "";
  Result<Call> made =
      make_call(launch.runtime, pack_cl, "pack", fmt::format("{} -D G={}{}{}", options, side.panel, side.how, serial));
  if (!made.ok()) return made.status();
  Call& call = made.value();
  call.add(cl_long{side.lines});
  call.add(cl_long{range.k});
  call.add(cl_long{range.k_padded});
  call.add_operand(span, side.layout, type, range.first);
  call.add(panels);
  call.add(cl_long{side.product_step(range.k_padded)});
  const std::int64_t products = side.is_shared() ? 1 : range.count;
  if (is_serial)
    return call.enqueue(launch.queue,
                        ceil_divide(range.k_padded, serial_terms) * ceil_divide(side.lines, side.panel) * products, 1,
                        "pack");
  constexpr std::int64_t tile = 32;
  constexpr std::int64_t items = 256;
  return call.enqueue(launch.queue,
                      ceil_divide(range.k_padded, tile) * ceil_divide(side.padded_lines(), tile) * products, items,
                      "pack");
}

Status enqueue_packed(const Launch& launch, const GemmDescription& d, const PanelProduct& panels,
                      const PackedParameters& parameters, std::int64_t first, std::int64_t count,
                      const std::string& options) {
  Result<Call> made = make_call(launch.runtime, packed_cl, "packed", options + parameters.options());
  if (!made.ok()) return made.status();
  Call& call = made.value();
  call.add(cl_long{d.m});
  call.add(cl_long{d.n});
  call.add(cl_long{panels.k_padded});
  call.add(panels.a);
  call.add(cl_long{panels.a_step});
  call.add(panels.b);
  call.add(cl_long{panels.b_step});
  call.add(panels.totals);
  call.add_output(launch, d, first);
  return call.enqueue(launch.queue, parameters.tiles(d.m, d.n) * count, parameters.items(), "packed");
}

}  // namespace exactile::opencl
