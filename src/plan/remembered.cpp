// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "plan/product_text.hpp"
#include "plan/select.hpp"
#include "tuning/table/table.hpp"

namespace exactile::plan {
namespace {

std::string text_of(const OperandLayout& layout, std::int64_t batch_count) {
  return fmt::format("{},{}{}{}", layout.row_stride, layout.column_stride,
                     batch_count == 1 ? "" : fmt::format(",{}", layout.batch_stride), layout.conjugate ? "*" : "");
}

const KernelEntry* named(const BackendEntry& backend, std::string_view name) {
  const auto kernels = backend.kernels();
  const auto found = std::ranges::find(kernels, name, &KernelEntry::name);
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace

std::string product_text(const Problem& problem) {
  const GemmDescription& d = problem.description;
  std::string text = fmt::format("{}x{}x{} A={} B={} C={}", d.m, d.n, d.k, text_of(d.a, d.batch_count),
                                 text_of(d.b, d.batch_count), text_of(d.c, d.batch_count));
  if (d.batch_count != 1) text += fmt::format(" batch={}", d.batch_count);
  if (d.bias != Bias::none) text += d.bias == Bias::per_row ? " bias=rows" : " bias=columns";
  if (d.activation != Activation::none) text += fmt::format(" activation={}", static_cast<int>(d.activation));
  if (d.row_scales) text += " row_scales";
  if (d.column_scales) text += " column_scales";
  if (problem.reproducible) text += " reproducible";
  return text + fmt::format(" {} {} threads={}", to_string(problem.accuracy),
                            problem.memory == Memory::host ? "host" : "device", problem.threads);
}

std::string device_name(const BackendEntry& backend, int device) {
  const std::vector<DeviceInfo> devices = backend.devices();
  return device < static_cast<int>(devices.size()) ? devices[static_cast<std::size_t>(device)].name : std::string();
}

std::optional<Choice> remembered_choice(std::span<const BackendEntry* const> backends, const Problem& problem,
                                        const GemmOptions& options) {
  if (!tuning::has_user_rows()) return std::nullopt;
  const std::vector<tuning::Row> rows =
      tuning::rows_of_class(to_string(problem.description.types), product_text(problem));
  std::optional<Choice> best;
  double best_rate = 0;
  for (const tuning::Row& row : rows)
    for (const BackendEntry* backend : backends) {
      if (row.rate <= best_rate || !is_asked(*backend, options)) continue;
      const KernelEntry* kernel = named(*backend, row.key.kernel);
      if (kernel == nullptr || device_name(*backend, problem.device) != row.key.device) continue;
      Problem pinned = problem;
      pinned.parameters = row.parameters.to_string();
      if (!why_not(*kernel, pinned, options).empty()) continue;
      best = {kernel, pinned.parameters, fmt::format("measured here before: {:.3g} GFLOP/s", row.rate * 1e-9)};
      best_rate = row.rate;
    }
  return best;
}

}  // namespace exactile::plan
