// SPDX-License-Identifier: Apache-2.0
#include "opencl/peak.hpp"

#include <algorithm>
#include <chrono>

#include "opencl/families/call.hpp"
#include "opencl/kernel_sources.hpp"

namespace exactile::opencl {

Result<double> measure_peak(GemmTypes types, int device, int) {
  Result<Runtime*> found = Runtime::of(device);
  if (!found.ok()) return found.status();
  Runtime& runtime = *found.value();
  const ElementType sum = accumulator_type(types.input);
  // A complex product is made of real ones.
  const ElementType real = sum == ElementType::cf64   ? ElementType::f64
                           : sum == ElementType::cf32 ? ElementType::f32
                                                      : sum;
  if (!has_type(runtime.device(), real)) return Status(StatusCode::unsupported, "the device has no double precision");
  const bool is_cpu = runtime.device().is_cpu;
  const std::int64_t width =
      is_cpu ? std::max<std::int64_t>(1, std::int64_t{4} * runtime.device().vector_width_f32 / size_in_bytes(real)) : 1;
  constexpr std::int64_t chains = 16;
  const std::int64_t rounds = is_cpu ? 200000 : 4096;
  const std::int64_t items = is_cpu ? 1 : 256;
  const std::int64_t groups = runtime.device().compute_units * (is_cpu ? 1 : 16);
  const auto queue = runtime.queue();
  if (!queue.ok()) return queue.status();
  const auto out = runtime.scratch(groups * items * 8, queue.value().get());
  if (!out.ok()) return out.status();
  GemmDescription description;
  description.types = {real, real};
  const std::string options = fmt::format("{} -D WIDTH={} -D CHAINS={} -D ROUNDS={}",
                                          element_options(description, runtime.device()), width, chains, rounds);
  const double operations = 2.0 * static_cast<double>(width * chains * rounds * items * groups);
  using Clock = std::chrono::steady_clock;
  double best = 0;
  const auto end = Clock::now() + std::chrono::milliseconds(100);
  for (int run = 0; run < 3 || Clock::now() < end; ++run) {
    Result<Call> call = make_call(runtime, peak_cl, "peak", options);
    if (!call.ok()) return call.status();
    call.value().add(out.value().get().memory);
    call.value().add_scalar(0.5, real);
    call.value().add_scalar(3, real);
    const auto begin = Clock::now();
    if (Status s = call.value().enqueue(queue.value().get(), groups, items, "peak"); !s.ok()) return s;
    if (Status s = check(api()->clFinish(queue.value().get()), "clFinish"); !s.ok()) return s;
    if (run > 0) best = std::max(best, operations / std::chrono::duration<double>(Clock::now() - begin).count());
  }
  runtime.finished(queue.value().get());
  return best;
}

}  // namespace exactile::opencl
