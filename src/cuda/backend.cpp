// SPDX-License-Identifier: Apache-2.0
#include "cuda/backend.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/grouped.hpp"
#include "cuda/kernel_list.hpp"
#include "cuda/model/measure.hpp"
#include "cuda/model/rank.hpp"
#include "cuda/order_of_sums.hpp"
#include "cuda/peak.hpp"
#include "cuda/runtime/context.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/entry.hpp"
#include "cuda/runtime/executable.hpp"
#include "cuda/runtime/host_operands.hpp"

namespace exactile::cuda {

namespace {

bool multiplies(std::string_view name, GemmTypes types) {
  return std::ranges::any_of(kernels(), [&](const Kernel* kernel) {
    return kernel->name == name && std::ranges::find(kernel->types, types) != kernel->types.end();
  });
}

std::string reach_of_bits(const plan::Problem& problem) {
  const Device& device = devices()[static_cast<std::size_t>(problem.device)];
  return reach_of_order(problem, device.compute_capability, multiplies);
}

plan::HostLink link_of(int device) { return model::model_of(devices()[static_cast<std::size_t>(device)]).rows().link; }

Result<std::unique_ptr<plan::GroupedExecutable>> prepare_grouped(const GroupedDescription& description,
                                                                 const GemmOptions& options) {
  if (const auto why = why_unavailable(90, 90, options.device); !why.empty())
    return Status(StatusCode::device_unavailable, fmt::format("grouped products on CUDA: {}", why));
  return make_grouped(description, options, devices()[static_cast<std::size_t>(options.device)]);
}

}  // namespace

const plan::BackendEntry& backend() {
  static const plan::BackendEntry entry{.backend = Backend::cuda,
                                        .kernels = kernel_list,
                                        .devices = device_infos,
                                        .measure_peak = measure_peak,
                                        .open = open_context,
                                        .prepare_scaling = prepare_scaling,
                                        .measure = model::measure,
                                        .reach_of_bits = reach_of_bits,
                                        .prepare_grouped = prepare_grouped};
  return entry;
}

const plan::Offload& offload() {
  static const plan::Offload all{.backend = &backend(),
                                 .context_seconds = context_seconds,
                                 .overlaps_copies = true,
                                 .why_absent = [] { return std::string_view(); },
                                 .first_use_seconds = [](int device) { return is_ready(device) ? 0 : context_seconds; },
                                 .only_by_name = [](int) { return std::string_view(); },
                                 .is_pinned = is_pinned,
                                 .opened_by = opened_by,
                                 .link = link_of};
  return all;
}

}  // namespace exactile::cuda
