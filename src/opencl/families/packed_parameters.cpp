// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/packed_parameters.hpp"

#include <algorithm>

#include "opencl/families/call.hpp"

namespace exactile::opencl {
namespace {

bool is_vector_width(std::int64_t width) { return width == 1 || width == 2 || width == 4 || width == 8 || width == 16; }

/// Work-items share the copying of a tile's K step evenly.
bool shares_evenly(std::int64_t side, const PackedParameters& p, std::int64_t width) {
  return side * p.kwg % (width * p.items()) == 0;
}

std::string_view why_illegal(const tuning::Parameters& parameters, const Device& device, GemmTypes types) {
  const PackedParameters p = PackedParameters::from(parameters);
  const std::int64_t sum_bytes = size_in_bytes(accumulator_type(types.input));
  if (std::min({p.mwg, p.nwg, p.kwg, p.mdimc, p.ndimc, p.kwi}) < 1)
    return "MWG, NWG, KWG, MDIMC, NDIMC and KWI must be positive";
  if (!is_vector_width(p.vwm) || !is_vector_width(p.vwn)) return "VWM and VWN must be 1, 2, 4, 8 or 16";
  if ((p.sa | p.sb) & ~std::int64_t{1}) return "SA and SB must be 0 or 1";
  if (p.mwg % (p.mdimc * p.vwm) != 0) return "MWG must be a multiple of MDIMC * VWM";
  if (p.nwg % (p.ndimc * p.vwn) != 0) return "NWG must be a multiple of NDIMC * VWN";
  if (p.kwg % p.kwi != 0) return "KWG must be a multiple of KWI";
  if (chunk_terms % p.kwg != 0) return "KWG must divide a chunk of K (4096)";
  if (p.items() > device.max_group_items)
    return with_limit("MDIMC * NDIMC is more than the device allows in a group", device.max_group_items, "work-items");
  if (p.sa == 1 && !shares_evenly(p.mwg, p, p.vwm)) return "MWG * KWG must be a multiple of VWM * MDIMC * NDIMC";
  if (p.sb == 1 && !shares_evenly(p.nwg, p, p.vwn)) return "NWG * KWG must be a multiple of VWN * MDIMC * NDIMC";
  if (2 * p.kwg * (p.sa * p.mwg + p.sb * p.nwg) * sum_bytes > device.local_bytes)
    return with_limit("the tiles do not fit in local memory", device.local_bytes, "bytes");
  // 255 registers of 4 bytes are the most that a GPU's work-item has; a CPU's spill to the stack.
  constexpr std::int64_t register_bytes = 1024;
  if (p.sums_per_item() * sum_bytes > (device.is_cpu ? 4 * register_bytes : register_bytes * 3 / 4))
    return "more sums than a work-item has registers for";
  return {};
}

/// CPUs: one work-item is a core's whole tile. GPUs: many work-items share one.
tuning::Space space(const Device& device, GemmTypes types) {
  const bool wide = size_in_bytes(accumulator_type(types.input)) > 4;
  if (device.is_cpu)
    return {{"MWG", {4, 6, 8, 12, 16, 24}},
            {"NWG", wide ? std::vector<std::int64_t>{8, 16, 24, 32} : std::vector<std::int64_t>{8, 16, 32, 48, 64}},
            {"KWG", {8, 16, 32, 64}},
            {"MDIMC", {1, 2, 4}},
            {"NDIMC", {1, 2}},
            {"VWM", {1, 2, 4}},
            {"VWN", {4, 8, 16}},
            {"KWI", {1, 2, 4, 8}},
            {"SA", {0}},
            {"SB", {0}}};
  return {{"MWG", {16, 32, 64, 96, 128, 192, 256}},
          {"NWG", {16, 32, 64, 96, 128, 192, 256}},
          {"KWG", {8, 16, 32}},
          {"MDIMC", {4, 8, 16, 32}},
          {"NDIMC", {4, 8, 16, 32}},
          {"VWM", {1, 2, 4}},
          {"VWN", {1, 2, 4}},
          {"KWI", {1, 2, 4, 8, 16, 32}},
          {"SA", {0, 1}},
          {"SB", {0, 1}}};
}

}  // namespace

PackedParameters PackedParameters::from(const tuning::Parameters& p) {
  return {p.get("MWG"), p.get("NWG"), p.get("KWG"), p.get("MDIMC"), p.get("NDIMC"),
          p.get("VWM"), p.get("VWN"), p.get("KWI"), p.get("SA"),    p.get("SB")};
}

std::string PackedParameters::options() const {
  return fmt::format(
      " -D MWG={} -D NWG={} -D KWG={} -D MDIMC={} -D NDIMC={} -D VWM={} -D VWN={} -D KWI={} -D SA={} -D SB={}", mwg,
      nwg, kwg, mdimc, ndimc, vwm, vwn, kwi, sa, sb);
}

const Tunable packed_tunable{.version = 1, .space = space, .why_illegal = why_illegal};

}  // namespace exactile::opencl
