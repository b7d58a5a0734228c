// SPDX-License-Identifier: Apache-2.0
// `simt_f32_sliced_k`: products of few tiles on the CUDA cores. A block has a tile of C and a chunk of
// K, each warp of it a piece of that chunk.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/simt/product.cuh"
#include "cuda/kernels/simt/simt_kernels.hpp"
#include "cuda/kernels/simt/sliced_k.cuh"
#include "cuda/tile/cluster_launch.cuh"

namespace exactile::cuda {
namespace {

using namespace simt;

using Tile = Shape<float, float, 32, 32, 8, 8, 4, 4, 3, 1, true, tile_piece_k, 2>;
constexpr std::string_view name = "simt_f32_sliced_k";
constexpr std::array types{GemmTypes{ElementType::f32, ElementType::f32}};

constexpr TileSize tile = size_of<Tile>;

int warps_for(const GemmDescription& d) {
  return static_cast<int>(core::ceil_divide(std::min<std::int64_t>(d.k, chunk_k), tile_piece_k));
}

/// Whether B's rows are whole aligned vectors, or its columns lie along K: single elements take longer to copy.
bool loads_by_vectors(const GemmDescription& d) {
  constexpr int vector = 4;
  return d.b.row_stride == 1 || (d.b.column_stride == 1 && d.n % vector == 0 && d.b.row_stride % vector == 0);
}

SlicedKDivision divide_sliced_k(const GemmDescription& d, const Device& device, std::int64_t split_k) {
  Division division;
  division.row_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.m, Tile::bm));
  division.column_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.n, Tile::bn));
  division.chunks = core::ceil_divide(d.k, chunk_k);
  division = with_split_k(division, split_k);
  return {.division = division, .warps = warps_for(d), .in_clusters = are_in_clusters(division.split_k, device)};
}

Candidate candidate(const SlicedKDivision& sliced_k, const GemmDescription& d, const Device& device) {
  const Division& division = sliced_k.division;
  const double c_elements = static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.batch_count);
  Demand demand{
      .tiles = static_cast<double>(division.work_tiles(d.batch_count)),
      .slots = static_cast<double>(device.sm_count),
      .steps = static_cast<double>(division.chunks_per_slice * sliced_k.warps),
      .bytes = 4.0 * (static_cast<double>(d.batch_count) * static_cast<double>((d.m + d.n) * d.k) + c_elements),
      .path = loads_by_vectors(d) ? 0 : 1};
  if (sliced_k.reduces_in_memory()) {
    demand.side_kernels = 1;
    demand.copied_bytes = 8 * c_elements * static_cast<double>(division.chunks);
  }
  return {{.bm = Tile::bm, .bn = Tile::bn, .split_k = static_cast<int>(division.split_k)}, demand};
}

/// Divisions into powers of two, as few as a block has room for sums of its chunks.
std::vector<Candidate> sliced_k_candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, tile));
  const std::int64_t chunks = core::ceil_divide(d.k, chunk_k);
  std::vector<Candidate> all;
  for (std::int64_t split_k = core::ceil_divide(chunks, most_chunks_of_block); split_k < 2 * chunks; split_k *= 2) {
    const SlicedKDivision sliced_k = divide_sliced_k(d, device, split_k);
    if (sliced_k.reduces_in_memory() && !sums_refuse(d, chunks).empty() && !all.empty()) break;
    all.push_back(candidate(sliced_k, d, device));
  }
  return all;
}

class SlicedK final : public DeviceProduct {
 public:
  SlicedK(const plan::Problem& problem, const Device& device, const Configuration& configuration)
      : is_transposed_(is_transposed(problem.description, tile)),
        d_(oriented(problem.description, is_transposed_)),
        device_(device),
        sliced_k_(divide_sliced_k(d_, device, configuration.split_k)) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    const Parameters<float, float> p{d_,
                                     sliced_k_.division,
                                     static_cast<const float*>(arguments.a),
                                     static_cast<const float*>(arguments.b),
                                     static_cast<float*>(arguments.c),
                                     static_cast<float*>(launch.workspace),
                                     Epilogue<float, float>(d_, arguments)};
    constexpr int vector = 4;
    const AccessPattern a =
        access_pattern_for(arguments.a, d_.a, d_.m, d_.k, d_.a.row_stride, d_.a.column_stride, vector);
    const AccessPattern b =
        access_pattern_for(arguments.b, d_.b, d_.n, d_.k, d_.b.column_stride, d_.b.row_stride, vector);
    const SlicedKInstance instance = sliced_k_instance_for<Tile>(a, b);
    if (Status s = enqueue(instance, p, launch.stream); !s.ok()) return s;
    if (!sliced_k_.reduces_in_memory()) return {};
    enqueue_splitk_reduce(p, launch.stream);
    return check_launch(name);
  }
  [[nodiscard]] std::string blocking() const override {
    return "BM=32 BN=32 SPLIT_K=" + std::to_string(sliced_k_.division.split_k) +
           " warps=" + std::to_string(sliced_k_.warps) + (sliced_k_.in_clusters ? ", split-K in clusters" : "");
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    if (!sliced_k_.reduces_in_memory()) return 0;
    return sliced_k_.division.chunks * d_.m * d_.n * d_.batch_count * static_cast<std::int64_t>(sizeof(float));
  }
  [[nodiscard]] double model_bytes() const override {
    const auto m = static_cast<double>(d_.m), n = static_cast<double>(d_.n), k = static_cast<double>(d_.k);
    return sizeof(float) * static_cast<double>(d_.batch_count) *
               (k * (m * sliced_k_.division.column_tiles + n * sliced_k_.division.row_tiles) + m * n) +
           2 * static_cast<double>(workspace_bytes());
  }

 private:
  [[nodiscard]] Status enqueue(const SlicedKInstance& instance, const Parameters<float, float>& p,
                               cudaStream_t stream) const {
    const int shared_bytes = sliced_k_shared_bytes(instance, sliced_k_);
    if (Status s = allow_shared_memory(instance.kernel, static_cast<int>(device_.shared_bytes_per_block), name);
        !s.ok())
      return s;
    const auto blocks = static_cast<unsigned>(sliced_k_.division.work_tiles(d_.batch_count));
    const auto threads = static_cast<unsigned>(32 * sliced_k_.warps);
    return check(sliced_k_.in_clusters
                     ? launch_clusters(static_cast<int>(sliced_k_.division.split_k), instance.kernel, blocks, threads,
                                       static_cast<std::size_t>(shared_bytes), stream, p, sliced_k_)
                     : launch_early(device_.compute_capability >= 90, instance.kernel, blocks, threads,
                                    static_cast<std::size_t>(shared_bytes), stream, p, sliced_k_),
                 "launch", name);
  }

  bool is_transposed_;
  GemmDescription d_;
  Device device_;
  SlicedKDivision sliced_k_;
};

std::string_view why_refused(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, tile));
  if (d.k > chunk_k * std::int64_t{1024}) return "needs k <= 2^19";
  const double work_tiles = std::ceil(static_cast<double>(d.m) / Tile::bm) *
                            std::ceil(static_cast<double>(d.n) / Tile::bn) *
                            static_cast<double>(d.batch_count * core::ceil_divide(d.k, chunk_k));
  if (work_tiles > 0x7fffffff) return "more blocks than one grid has";
  if (const std::string_view why = refuses(problem, tile); !why.empty()) return why;
  const SlicedKDivision sliced_k =
      divide_sliced_k(d, device, core::ceil_divide(core::ceil_divide(d.k, chunk_k), most_chunks_of_block));
  if (sliced_k.reduces_in_memory())
    if (const std::string_view why = sums_refuse(d, sliced_k.division.chunks); !why.empty()) return why;
  const int most =
      sliced_k_shared_bytes(sliced_k_instance_for<Tile>(AccessPattern::k_major, AccessPattern::k_major), sliced_k);
  return most > device.shared_bytes_per_block ? "a block has no shared memory for all pieces of a chunk" : "";
}

}  // namespace

const Kernel simt_f32_sliced_k{
    .name = name,
    .role = "engine",
    .summary = "sliced-K for few tiles: 32 x 32, a warp for each piece of K",
    .types = types,
    .least_capability = 80,
    .refuses = why_refused,
    .candidates = sliced_k_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<SlicedK>(p, device, c);
    }};

}  // namespace exactile::cuda
