// SPDX-License-Identifier: Apache-2.0
// `simt_few_rows`: f32 and f64 with at most four rows or columns, as fast as memory delivers the other operand.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/simt/few_rows.cuh"
#include "cuda/kernels/simt/simt_kernels.hpp"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/cluster_launch.cuh"

namespace exactile::cuda {
namespace {

using namespace simt;

constexpr std::string_view name = "simt_few_rows";
constexpr int most_rows = 4;
constexpr int tile_columns = 32;

/// What is common to all instances; only is_transposed() looks at it.
constexpr TileSize orientation{.bm = most_rows, .bn = tile_columns, .ctas = 1};

/// Shared memory of a warp's pipeline, at the most.
constexpr std::int64_t ring_bytes(std::int64_t rows) { return rows == 1 ? 25344 : 23040; }

/// Shared memory of a block: its warps' pipelines, and the sums of its chunks.
std::int64_t shared_bytes_of(const FewRowsDivision& few, const GemmDescription& d) {
  const std::int64_t sums = few.division.chunks_per_slice * (d.m == 1 ? 1 : most_rows) * tile_columns;
  return few.tiles * (few.chunk_warps * ring_bytes(d.m) + sums * size_in_bytes(d.types.input));
}

/// So that an SM's shared memory holds as many pipelines as it may.
std::int64_t most_chunk_warps(const Device& device) {
  const std::int64_t shared = device.shared_bytes_per_block;
  return shared >= 220 << 10 ? 8 : shared >= 132 << 10 ? 4 : 2;
}

constexpr std::int64_t least_warps = 4;
constexpr std::int64_t most_chunks = 32;  ///< of a block: their sums lie in shared memory

FewRowsDivision divide_few_rows(const GemmDescription& d, const Device& device, std::int64_t split_k) {
  FewRowsDivision few{};
  Division& division = few.division;
  division.chunks = core::ceil_divide(d.k, chunk_k);
  division = with_split_k(division, split_k);
  few.in_clusters = are_in_clusters(division.split_k, device);
  few.chunk_warps = static_cast<int>(std::min(division.chunks_per_slice, most_chunk_warps(device)));
  few.tiles = static_cast<int>(std::max<std::int64_t>(1, least_warps / few.chunk_warps));
  // One warp's pipeline and the sums of most_chunks fit everywhere.
  while (few.tiles > 1 && shared_bytes_of(few, d) > device.shared_bytes_per_block) --few.tiles;
  while (few.chunk_warps > 1 && shared_bytes_of(few, d) > device.shared_bytes_per_block) --few.chunk_warps;
  division.column_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.n, few.tiles * tile_columns));
  return few;
}

/// The fewest K slices, whose blocks have room for the sums of their chunks.
std::int64_t least_splits(const GemmDescription& d) {
  return core::ceil_divide(core::ceil_divide(d.k, chunk_k), most_chunks);
}

Candidate candidate(const FewRowsDivision& few, const GemmDescription& d, const Device& device) {
  const Division& division = few.division;
  const std::int64_t size = size_in_bytes(d.types.input);
  const auto batch = static_cast<double>(d.batch_count);
  const double c_elements = static_cast<double>(d.m * d.n) * batch;
  Demand demand{
      .tiles = static_cast<double>(division.work_tiles(d.batch_count)),
      .slots = static_cast<double>(device.sm_count * std::max<std::int64_t>(1, most_chunk_warps(device) / few.warps())),
      .steps = std::ceil(static_cast<double>(division.chunks_per_slice) / few.chunk_warps) *
               static_cast<double>(std::min<std::int64_t>(d.k, chunk_k) * size) / 128,
      .bytes = static_cast<double>(size) * (batch * static_cast<double>((d.m + d.n) * d.k) + c_elements)};
  if (few.reduces_in_memory()) {
    demand.side_kernels = 1;
    demand.copied_bytes = 2 * static_cast<double>(size) * c_elements * static_cast<double>(division.chunks);
  }
  return {{.bm = most_rows, .bn = few.tiles * tile_columns, .split_k = static_cast<int>(division.split_k)}, demand};
}

std::vector<Candidate> few_rows_candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, orientation));
  const std::int64_t chunks = core::ceil_divide(d.k, chunk_k);
  std::vector<Candidate> all;
  for (std::int64_t split_k = least_splits(d); split_k < 2 * chunks; split_k *= 2) {
    const FewRowsDivision few = divide_few_rows(d, device, split_k);
    constexpr double most_blocks = 0x7fffffff;
    const double blocks = static_cast<double>(d.batch_count) * static_cast<double>(few.division.split_k) *
                          static_cast<double>(few.division.column_tiles);
    const bool is_impossible = blocks > most_blocks || (few.reduces_in_memory() && !sums_refuse(d, chunks).empty());
    if (is_impossible && !all.empty()) break;
    all.push_back(candidate(few, d, device));
  }
  return all;
}

std::int64_t magnitude(std::int64_t stride) { return stride < 0 ? -stride : stride; }

/// Whether B is K-major; where it is neither, the nearer ones are taken for neighbours.
bool b_is_k_major(const GemmDescription& d) {
  if (d.b.row_stride == 1 || d.b.column_stride == 1) return d.b.row_stride == 1 && (d.b.column_stride != 1 || d.n == 1);
  return magnitude(d.b.row_stride) < magnitude(d.b.column_stride);
}

template <class T>
class FewRows final : public DeviceProduct {
 public:
  FewRows(const plan::Problem& problem, const Device& device, const Configuration& configuration)
      : is_transposed_(is_transposed(problem.description, orientation)),
        d_(oriented(problem.description, is_transposed_)),
        device_(device),
        few_(divide_few_rows(d_, device, configuration.split_k)) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    const Parameters<T, T> p{d_,
                             few_.division,
                             static_cast<const T*>(arguments.a),
                             static_cast<const T*>(arguments.b),
                             static_cast<T*>(arguments.c),
                             static_cast<T*>(launch.workspace),
                             Epilogue<T, T>(d_, arguments)};
    const Status status = d_.m == 1 ? launch_rows<1>(p, launch.stream) : launch_rows<most_rows>(p, launch.stream);
    if (!status.ok() || !few_.reduces_in_memory()) return status;
    enqueue_splitk_reduce(p, launch.stream);
    return check_launch(name);
  }

  [[nodiscard]] std::string blocking() const override {
    return "BM=4 BN=" + std::to_string(few_.tiles * tile_columns) +
           " SPLIT_K=" + std::to_string(few_.division.split_k) + " warps=" + std::to_string(few_.warps()) +
           (few_.in_clusters ? ", split-K in clusters" : "");
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    if (!few_.reduces_in_memory()) return 0;
    return few_.division.chunks * d_.m * d_.n * d_.batch_count * static_cast<std::int64_t>(sizeof(T));
  }
  [[nodiscard]] double model_bytes() const override {
    const auto elements = static_cast<double>(d_.n) * static_cast<double>(d_.k + d_.m) +
                          static_cast<double>(d_.m) * static_cast<double>(d_.k);
    return static_cast<double>(sizeof(T)) * elements * static_cast<double>(d_.batch_count) +
           2 * static_cast<double>(workspace_bytes());
  }

 private:
  template <int Rows>
  [[nodiscard]] Status launch_rows(const Parameters<T, T>& p, cudaStream_t stream) const {
    const bool k_major = b_is_k_major(d_);
    const std::int64_t along = k_major ? d_.b.row_stride : d_.b.column_stride;
    const std::int64_t across = k_major ? d_.b.column_stride : d_.b.row_stride;
    constexpr int vector = 16 / sizeof(T);
    const bool wide = along == 1 && across % vector == 0 && d_.b.batch_stride % vector == 0 && !d_.b.pointer_array &&
                      reinterpret_cast<std::uintptr_t>(p.b) % 16 == 0;
    using enum Contiguous;
    if (k_major)
      return wide ? launch_stream<Stream<T, Rows, k_contiguous, true>>(p, stream)
                  : launch_stream<Stream<T, Rows, k_contiguous, false>>(p, stream);
    return wide ? launch_stream<Stream<T, Rows, n_contiguous, true>>(p, stream)
                : launch_stream<Stream<T, Rows, n_contiguous, false>>(p, stream);
  }

  template <class S>
  [[nodiscard]] Status launch_stream(const Parameters<T, T>& p, cudaStream_t stream) const {
    static_assert(S::pipeline_elements * sizeof(T) <= ring_bytes(S::rows));
    const auto kernel = few_rows_kernel<S, T>;
    const std::size_t shared_bytes =
        sizeof(T) * (few_.warps() * S::pipeline_elements +
                     few_.tiles * static_cast<int>(few_.division.chunks_per_slice) * S::rows * S::columns);
    const auto most = static_cast<int>(device_.shared_bytes_per_block);  // other products of this instance take more
    if (Status status = allow_shared_memory(kernel, most, name); !status.ok()) return status;
    const auto blocks = static_cast<unsigned>(d_.batch_count * few_.division.split_k * few_.division.column_tiles);
    const auto threads = static_cast<unsigned>(32 * few_.warps());
    return check(few_.in_clusters ? launch_clusters(static_cast<int>(few_.division.split_k), kernel, blocks, threads,
                                                    shared_bytes, stream, p, few_)
                                  : launch_early(device_.compute_capability >= 90, kernel, blocks, threads,
                                                 shared_bytes, stream, p, few_),
                 "launch", name);
  }

  bool is_transposed_;
  GemmDescription d_;
  Device device_;
  FewRowsDivision few_;
};

std::string_view why_refused(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, orientation));
  if (d.m > most_rows) return "for at most 4 rows or columns";
  const FewRowsDivision few = divide_few_rows(d, device, least_splits(d));
  if (static_cast<double>(few.division.split_k) * few.division.column_tiles * static_cast<double>(d.batch_count) >
      0x7fffffff)
    return "more blocks than one grid has";
  if (few.reduces_in_memory())
    if (const std::string_view why = sums_refuse(d, few.division.chunks); !why.empty()) return why;
  return refuses(problem, orientation);
}

constexpr std::array types{GemmTypes{ElementType::f32, ElementType::f32},
                           GemmTypes{ElementType::f64, ElementType::f64}};

}  // namespace

const Kernel simt_few_rows{
    .name = name,
    .role = "engine",
    .summary = "at most 4 rows or columns: each warp streams 32 columns of a chunk",
    .types = types,
    .least_capability = 80,
    .refuses = why_refused,
    .candidates = few_rows_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      if (p.description.types.input == ElementType::f32) return std::make_unique<FewRows<float>>(p, device, c);
      return std::make_unique<FewRows<double>>(p, device, c);
    }};

}  // namespace exactile::cuda
