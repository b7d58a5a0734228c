// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/reduce.hpp"

#include "core/checked.hpp"
#include "opencl/families/call.hpp"
#include "opencl/kernel_sources.hpp"

namespace exactile::opencl {

Status enqueue_reduce(const Launch& launch, const GemmDescription& d, std::int64_t slices, cl_mem partial) {
  Result<Call> made = make_call(launch.runtime, reduce_cl, "reduce", element_options(d, launch.runtime.device()));
  if (!made.ok()) return made.status();
  Call& call = made.value();
  call.add(cl_long{d.m});
  call.add(cl_long{d.n});
  call.add(cl_long{d.batch_count});
  call.add(cl_long{slices});
  call.add(partial);
  call.add_output(launch, d);
  constexpr std::int64_t items = 64;
  return call.enqueue(launch.queue, core::ceil_divide(d.m * d.n * d.batch_count, items), items, "reduce");
}

}  // namespace exactile::opencl
