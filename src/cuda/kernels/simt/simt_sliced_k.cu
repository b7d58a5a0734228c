// SPDX-License-Identifier: Apache-2.0
// `simt_f32_sliced_k`: products of few tiles on the CUDA cores. The CTAs of a cluster have a tile of C, each warp of
// them a piece of K at a time.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/simt/product.cuh"
#include "cuda/kernels/simt/sliced_k.cuh"
#include "cuda/runtime/clusters.hpp"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda {
namespace {

using namespace simt;

using Tile = Shape<float, float, 32, 32, 8, 8, 4, 4, 4, 1, true, tile_piece_k, 2>;
constexpr std::string_view name = "simt_f32_sliced_k";
constexpr std::array types{GemmTypes{ElementType::f32, ElementType::f32}};

constexpr TileSize tile = size_of<Tile>;

int most_ranks_of(const Device& device) {
  if (device.compute_capability < 90 || !waits_for_kernel_before) return 1;
  int ranks = most_cluster(device);
  while (sms_filled(device, ranks) < ranks) ranks /= 2;  // a part of a device
  return ranks;
}

/// What no instance exceeds.
constexpr SlicedKInstance largest = sliced_k_instance_for<Tile>(AccessPattern::k_major, AccessPattern::k_major);

/// A warp for each piece of a chunk, or half of them, and so on, where the sums leave no room for more; 0: there is
/// none. Of whole chunks, 16 pieces each, all warps take as many.
int warps_for(SlicedKDivision division, const Device& device) {
  division.warps = std::min(division.pieces_of_rank, sliced_k_warps);
  while (sliced_k_shared_bytes(largest, division) > device.shared_bytes_per_block) {
    if (division.warps == 1) return 0;
    division.warps = (division.warps + 1) / 2;
  }
  return division.warps;
}

std::int64_t pieces_of(const GemmDescription& d) {
  return core::ceil_divide(std::max<std::int64_t>(d.k, 1), tile_piece_k);
}

SlicedKDivision divide_sliced_k(const GemmDescription& d, const Device& device, int ranks) {
  SlicedKDivision division{.row_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.m, Tile::bm)),
                           .column_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.n, Tile::bn)),
                           .pieces = static_cast<int>(pieces_of(d)),
                           .ranks = ranks};
  const int chunks = static_cast<int>(core::ceil_divide(division.pieces, pieces_of_chunk));
  division.pieces_of_rank = division.pieces <= ranks * pieces_of_chunk
                                ? static_cast<int>(core::ceil_divide(division.pieces, ranks))
                                : static_cast<int>(core::ceil_divide(chunks, ranks)) * pieces_of_chunk;
  division.warps = warps_for(division, device);
  return division;
}

double ctas_of(const SlicedKDivision& division, const GemmDescription& d) {
  return static_cast<double>(division.row_tiles) * division.column_tiles * division.ranks *
         static_cast<double>(d.batch_count);
}

Candidate candidate(const SlicedKDivision& division, const GemmDescription& d, const Device& device) {
  const double c_elements = static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.batch_count);
  return {{.bm = Tile::bm, .bn = Tile::bn, .cluster_k = division.ranks},
          {.tiles = ctas_of(division, d),
           .slots = static_cast<double>(sms_filled(device, division.ranks) / division.ranks * division.ranks),
           .steps = static_cast<double>(division.pieces_of_rank),
           .bytes = 4.0 * (static_cast<double>(d.batch_count) * static_cast<double>((d.m + d.n) * d.k) + c_elements),
           .path = path_of(d)}};
}

std::vector<Candidate> sliced_k_candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, tile));
  std::vector<Candidate> all;
  const std::int64_t most = std::min<std::int64_t>(most_ranks_of(device), pieces_of(d));
  for (int ranks = 1; ranks <= most; ranks *= 2)
    if (const SlicedKDivision division = divide_sliced_k(d, device, ranks); division.warps > 0)
      all.push_back(candidate(division, d, device));
  return all;
}

class SlicedK final : public DeviceProduct {
 public:
  SlicedK(const plan::Problem& problem, const Device& device, const Configuration& configuration)
      : is_transposed_(is_transposed(problem.description, tile)),
        d_(oriented(problem.description, is_transposed_)),
        device_(device),
        division_(divide_sliced_k(d_, device, configuration.cluster_k)) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    const Parameters<float, float> p{d_,
                                     {},
                                     static_cast<const float*>(arguments.a),
                                     static_cast<const float*>(arguments.b),
                                     static_cast<float*>(arguments.c),
                                     nullptr,
                                     Epilogue<float, float>(d_, arguments)};
    constexpr int vector = 4;
    const AccessPattern a =
        access_pattern_for(arguments.a, d_.a, d_.m, d_.k, d_.a.row_stride, d_.a.column_stride, vector);
    const AccessPattern b =
        access_pattern_for(arguments.b, d_.b, d_.n, d_.k, d_.b.column_stride, d_.b.row_stride, vector);
    return enqueue(sliced_k_instance_for<Tile>(a, b), p, launch.stream);
  }
  [[nodiscard]] std::string blocking() const override {
    return "BM=32 BN=32 CLUSTER_K=" + std::to_string(division_.ranks) + " WARPS=" + std::to_string(division_.warps);
  }
  [[nodiscard]] double model_bytes() const override {
    const auto m = static_cast<double>(d_.m), n = static_cast<double>(d_.n), k = static_cast<double>(d_.k);
    return sizeof(float) * static_cast<double>(d_.batch_count) *
           (k * (m * division_.column_tiles + n * division_.row_tiles) + m * n);
  }

 private:
  [[nodiscard]] Status enqueue(const SlicedKInstance& instance, const Parameters<float, float>& p,
                               cudaStream_t stream) const {
    if (Status s = allow_shared_memory(instance.kernel, static_cast<int>(device_.shared_bytes_per_block), name);
        !s.ok())
      return s;
    if (Status s = allow_clusters(instance.kernel, division_.ranks, name); !s.ok()) return s;
    const auto ctas = static_cast<unsigned>(ctas_of(division_, d_)), threads = unsigned{32 * sliced_k_warps};
    const auto shared_bytes = static_cast<std::size_t>(sliced_k_shared_bytes(instance, division_));
    return check(launch_clusters(device_.compute_capability >= 90, division_.ranks, instance.kernel, ctas, threads,
                                 shared_bytes, stream, p, division_),
                 "launch", name);
  }

  bool is_transposed_;
  GemmDescription d_;
  Device device_;
  SlicedKDivision division_;
};

std::string_view why_refused(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, tile));
  const int ranks = most_ranks_of(device);
  const double tiles = std::ceil(static_cast<double>(d.m) / Tile::bm) * std::ceil(static_cast<double>(d.n) / Tile::bn) *
                       static_cast<double>(d.batch_count);
  if (tiles * ranks > 0x7fffffff) return "more CTAs than one grid has";
  if (const std::string_view why = refuses(problem, tile); !why.empty()) return why;
  constexpr std::int64_t most_pieces = 1 << 12;
  if (pieces_of(d) > most_pieces || divide_sliced_k(d, device, ranks).warps == 0)
    return "a cluster's shared memory has no room for the sums of all chunks of K";
  return "";
}

}  // namespace

const Kernel simt_f32_sliced_k{
    .name = name,
    .role = "engine",
    .summary = "sliced-K for few tiles: 32 x 32, a warp for each piece of K, clusters share K",
    .types = types,
    .least_capability = 80,
    .refuses = why_refused,
    .candidates = sliced_k_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<SlicedK>(p, device, c);
    }};

}  // namespace exactile::cuda
