// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/native/grouped_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace {

using namespace sm90::native;

Status unsupported(std::string message) { return {StatusCode::unsupported, std::move(message)}; }

constexpr GemmTypes grouped_types[] = {
    {ElementType::bf16, ElementType::bf16},   {ElementType::bf16, ElementType::f32},
    {ElementType::f16, ElementType::f16},     {ElementType::f16, ElementType::f32},
    {ElementType::f8e4m3, ElementType::bf16}, {ElementType::f8e4m3, ElementType::f32}};

/// The first of those that the parameters allow that computes the fewest columns beyond n.
const GroupedConfig* config_for(std::int64_t n, const std::string& parameters) {
  const auto pin = Pin::parse(parameters);
  const auto columns = [n](const GroupedConfig& config) {
    return clusters_across(n, config) * config.tile.n * config.cluster_columns;
  };
  const GroupedConfig* best = nullptr;
  for (const GroupedConfig& config : grouped_configs) {
    if (!pin || !pin->matches(configuration_of(config))) continue;
    if (best == nullptr || columns(config) < columns(*best)) best = &config;
  }
  return best;
}

/// What no configuration can do.
Status check(const GroupedDescription& d, const GemmOptions& options) {
  if (std::ranges::find(grouped_types, d.types) == std::end(grouped_types))
    return unsupported(fmt::format("types = {}: groups on CUDA are bf16, f16 or f8e4m3, with C of f32 or 16 bits",
                                   to_string(d.types)));
  const bool is_8_bits = size_in_bytes(d.types.input) == 1;
  if (options.accuracy > (is_8_bits ? Accuracy::reduced : Accuracy::standard))
    return unsupported(fmt::format("accuracy = {}: groups of {} on CUDA keep reduced{}", to_string(options.accuracy),
                                   to_string(d.types), is_8_bits ? " alone" : " and standard"));
  if (!options.kernel.empty() && options.kernel != grouped_name(d.types.input))
    return {StatusCode::unknown_name, fmt::format("kernel = {}: groups on CUDA have {} for {}", options.kernel,
                                                  grouped_name(d.types.input), to_string(d.types))};
  constexpr std::int64_t most = 1 << 30, most_k = 1 << 15;  // longer sums would be cut in slices
  if (d.k < 1 || d.k > most_k)
    return unsupported(fmt::format("k = {}: expected 1 to {} for groups on CUDA", d.k, most_k));
  if (d.total_rows > most || d.n > most || d.groups > most)
    return unsupported(fmt::format("total_rows = {}, n = {}, groups = {}: expected at most 2^30 on CUDA", d.total_rows,
                                   d.n, d.groups));
  const GemmDescription all = whole(d);
  if (operand_major_of(all.a, d.types.input, false) != OperandMajor::k)
    return unsupported(
        fmt::format("a with strides ({}, {}): expected contiguous rows that begin at multiples of 16 "
                    "bytes for groups on CUDA",
                    d.a.row_stride, d.a.column_stride));
  if (operand_major_of(plan::transposed(all.b), d.types.input, false) == OperandMajor::none ||
      (d.groups > 1 && all.b.batch_stride == 0))
    return unsupported(
        fmt::format("b with strides ({}, {}) and batch stride {}: expected matrices of their own with "
                    "contiguous rows or columns that begin at multiples of 16 bytes for groups on CUDA",
                    d.b.row_stride, d.b.column_stride, d.b.batch_stride));
  if (d.c.column_stride != 1 && d.n > 1)
    return unsupported(
        fmt::format("c.column_stride = {}: expected contiguous rows for groups on CUDA", d.c.column_stride));
  return {};
}

}  // namespace

Result<std::unique_ptr<plan::GroupedExecutable>> make_grouped(const GroupedDescription& d, const GemmOptions& options,
                                                              const Device& device) {
  if (Status s = check(d, options); !s.ok()) return s;
  const GroupedConfig* const config = config_for(d.n, options.parameters);
  if (config == nullptr)
    return unsupported(fmt::format("parameters = {}: no kernel of groups has these", options.parameters));
  if (most_tiles(d, *config) > 1 << 30)
    return unsupported(fmt::format("total_rows = {}, n = {}: the product has too many tiles", d.total_rows, d.n));
  return make_grouped_product(d, *config, device);
}

}  // namespace exactile::cuda
