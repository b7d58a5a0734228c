// SPDX-License-Identifier: Apache-2.0
#include "cuda/order_of_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "cuda/kernels/sm90/native/plan.hpp"

namespace exactile::cuda {
namespace {

using Member = OrderOfSums::Member;

// All that do not cut K chain the tensor cores' sums in steps of K, whatever their tiles, clusters and directions are.
constexpr std::string_view uncut = "CLUSTER_K=1 SLICE_K=0";
constexpr std::array of_16_bits{Member{"sm90_bf16_wgmma", uncut}, Member{"sm90_f16_wgmma", uncut},
                                Member{"sm80_bf16_mma", ""}, Member{"sm80_f16_mma", ""}};
constexpr std::array of_long_16_bits{Member{"sm90_bf16_wgmma", uncut}, Member{"sm90_f16_wgmma", uncut}};
constexpr std::array of_8_bits{Member{"sm90_f8e4m3_wgmma", uncut}, Member{"sm90_f8e5m2_wgmma", uncut}};
constexpr std::array of_tf32{Member{"sm90_f32_tf32_wgmma", uncut}};
constexpr std::array of_slices{Member{"sm90_f32_fp16x3_wgmma", "SPLIT_K=1"}, Member{"sm90_f32_fp16x3_mma", ""}};
constexpr std::array of_f64{Member{"sm90_f64_mma", ""}, Member{"sm80_f64_mma", ""}};
constexpr std::array of_few_terms{Member{"short_sums", ""}};
// Smaller tiles sum a chunk in pieces.
constexpr std::array of_cuda_cores{Member{"simt_f32", "BM=128"}, Member{"simt_f32", "BM=64"}, Member{"simt_f64", ""},
                                   Member{"simt_native", ""}};

enum Order : std::size_t { f64, bits_16, long_16_bits, bits_8, tf32, slices, few_terms, cuda_cores };

constexpr std::array<OrderOfSums, 8> orders{{
    {"f64, chunks of 1024 of K on tensor cores, added in order", of_f64},
    {"K in one piece on tensor cores, summed in f32", of_16_bits},
    {"slices of 16384 of K on tensor cores, summed in f32, added in order", of_long_16_bits},
    {"f8, 128 of K at a time on tensor cores, added in f32 in order; slices of 32768 where K is above 65536",
     of_8_bits},
    {"tf32, K in one piece on tensor cores; slices of 8192 where K is above 16384", of_tf32},
    {"f32 as two f16 slices scaled by row and column, in which 128 of K or more count eightfold; chunks of 64 of K, "
     "added in order",
     of_slices},
    {"f32, pieces of 32 of K on CUDA cores, added in order", of_few_terms},
    {"chunks of 512 of K on CUDA cores, added in order", of_cuda_cores},
}};

Order order_of_f32(Accuracy accuracy, std::int64_t k, bool is_hopper) {
  constexpr std::int64_t least = 64, most = 1 << 20;  // of K, for slices to keep the bound
  if (is_hopper && accuracy == Accuracy::reduced) return tf32;
  if (k < least) return few_terms;
  return is_hopper && k <= most ? slices : cuda_cores;
}

Order order_of_narrow(GemmTypes types, Accuracy accuracy, std::int64_t k, int compute_capability) {
  const bool is_hopper = compute_capability == 90;
  const bool is_8_bits = size_in_bytes(types.input) == 1;
  if (is_8_bits && is_hopper && accuracy == Accuracy::reduced) return bits_8;
  if (compute_capability < 80 || (is_8_bits && !is_hopper)) return cuda_cores;
  GemmDescription d;
  d.types = types;
  d.k = k;
  const bool is_cut = sm90::native::split_k_of(d, ElementType::f16, {}) > 1;
  return is_hopper && is_cut ? long_16_bits : bits_16;
}

/// Read once: a plan asks for each of some hundred configurations.
const Pin& pin_of(const Member& member) {
  static const std::map<std::string_view, Pin> pins = [] {
    std::map<std::string_view, Pin> read;
    for (const OrderOfSums& order : orders)
      for (const Member& each : order.members) read.emplace(each.pin, Pin::parse(each.pin).value());
    return read;
  }();
  return pins.find(member.pin)->second;
}

bool is_ordered(const plan::Problem& problem) {
  return problem.reproducible && is_floating(problem.description.types.input) && problem.accuracy <= Accuracy::standard;
}

const OrderOfSums* order_of(const plan::Problem& problem, int compute_capability) {
  return order_of_sums(problem.description.types, problem.accuracy, problem.description.k, compute_capability);
}

}  // namespace

std::span<const OrderOfSums> orders_of_sums() { return orders; }

const OrderOfSums* order_of_sums(GemmTypes types, Accuracy accuracy, std::int64_t k, int compute_capability) {
  if (is_complex(types.input)) return nullptr;
  switch (types.input) {
    case ElementType::f64: return &orders[compute_capability < 80 ? cuda_cores : f64];
    case ElementType::f32: return &orders[order_of_f32(accuracy, k, compute_capability == 90)];
    default: return &orders[order_of_narrow(types, accuracy, k, compute_capability)];
  }
}

bool keeps(const OrderOfSums& order, std::string_view kernel, const Configuration& configuration) {
  return std::ranges::any_of(order.members, [&](const Member& member) {
    return member.kernel == kernel && pin_of(member).matches(configuration);
  });
}

bool keeps_some_order(std::string_view kernel) {
  return std::ranges::any_of(orders, [&](const OrderOfSums& order) {
    return std::ranges::find(order.members, kernel, &Member::kernel) != order.members.end();
  });
}

std::string fingerprint(const OrderOfSums& order) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash = (hash ^ 0xffU) * 0x100000001b3U;  // "ab", "c" is not "a", "bc"
  };
  add(order.name);
  for (const Member& member : order.members) {
    add(member.kernel);
    add(member.pin);
  }
  return fmt::format("{:016x}", hash);
}

std::string_view order_refuses(const plan::Problem& problem, int compute_capability, std::string_view kernel) {
  if (!is_ordered(problem)) return {};
  const OrderOfSums* order = order_of(problem, compute_capability);
  const bool is_member =
      order != nullptr && std::ranges::find(order->members, kernel, &Member::kernel) != order->members.end();
  return is_member ? "" : "would cut K elsewhere, or sum in another order (reproducible)";
}

bool may_offer(const plan::Problem& problem, int compute_capability, std::string_view kernel,
               const Configuration& configuration) {
  if (!is_ordered(problem)) return true;
  const OrderOfSums* order = order_of(problem, compute_capability);
  return order != nullptr && keeps(*order, kernel, configuration);
}

std::string reach_of_order(const plan::Problem& problem, int compute_capability,
                           bool (*multiplies)(std::string_view kernel, GemmTypes types)) {
  if (!is_ordered(problem)) return {};
  const OrderOfSums* order = order_of(problem, compute_capability);
  if (order == nullptr) return {};
  std::vector<std::string> members;
  for (const Member& member : order->members)
    if (multiplies(member.kernel, problem.description.types))
      members.push_back(fmt::format("{}{}{}", member.kernel, member.pin.empty() ? "" : " ", member.pin));
  return fmt::format("on every GPU of compute capability {}.{}, by {}\n               order {}: {}",
                     compute_capability / 10, compute_capability % 10, fmt::join(members, ", "), fingerprint(*order),
                     order->name);
}

}  // namespace exactile::cuda
