// SPDX-License-Identifier: Apache-2.0
// `simt_f32_few_rows`, `simt_f64_few_rows`: at most four rows or columns, as fast as memory delivers the other operand.
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

constexpr int most_rows = 4;
constexpr int tile_columns = 32;

/// What is common to all instances; only is_transposed() looks at it.
constexpr TileCost orientation{
    .bm = most_rows, .bn = tile_columns, .blocks_per_sm = 1, .cycles_alone = 1, .cycles_together = 1};

/// Shared memory of a warp's ring, at the most.
constexpr std::int64_t ring_bytes(std::int64_t rows) { return rows == 1 ? 25344 : 23040; }

/// Shared memory of a block: its warps' rings, and the sums of its chunks.
std::int64_t shared_bytes_of(const FewRowsDivision& few, const GemmDescription& d) {
  const std::int64_t sums = few.division.chunks_per_split * (d.m == 1 ? 1 : most_rows) * tile_columns;
  return few.tiles * (few.chunk_warps * ring_bytes(d.m) + sums * size_in_bytes(d.types.input));
}

/// So that a multiprocessor's shared memory holds as many rings as it may.
std::int64_t most_chunk_warps(const Device& device) {
  const std::int64_t shared = device.shared_bytes_per_block;
  return shared >= 220 << 10 ? 8 : shared >= 132 << 10 ? 4 : 2;
}

/// Until `blocks` that stream so many chunks each have ended, as fast as memory or a multiprocessor lets them. A
/// multiprocessor by itself takes in half as much again as its share of the bandwidth.
double streaming_seconds(std::int64_t blocks, std::int64_t chunks, std::int64_t splits, const GemmDescription& d,
                         const Device& device) {
  constexpr double wave = 1e-6, join = 2e-6, second_kernel = 4e-6;
  constexpr double memory_share = 0.9, most_of_even_share = 1.45;
  const bool in_clusters = are_in_clusters(splits, device);
  // Larger clusters do not fill the device.
  const double filled = !in_clusters || splits == 2 ? 1 : splits == 4 || splits == 8 ? 0.9 : 0.8;
  const std::int64_t residents = std::max<std::int64_t>(1, most_chunk_warps(device) / chunks);
  std::int64_t slots = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(filled * static_cast<double>(residents * device.multiprocessors)));
  if (in_clusters) slots = std::max(slots / splits, std::int64_t{1}) * splits;
  const double bytes = static_cast<double>(chunks * chunk_terms * tile_columns * size_in_bytes(d.types.input));
  const double rate = memory_share * device.memory_bytes_per_second;
  const auto wave_of = [&](std::int64_t many) {
    return many == 0 ? 0.0
                     : wave + bytes / std::min(rate / static_cast<double>(many),
                                               most_of_even_share * rate / device.multiprocessors);
  };
  return static_cast<double>(blocks / slots) * wave_of(slots) + wave_of(blocks % slots) +
         (splits == 1   ? 0
          : in_clusters ? join
                        : second_kernel);
}

FewRowsDivision divide_few_rows(const GemmDescription& d, const Device& device) {
  constexpr std::int64_t least_warps = 4;
  constexpr std::int64_t most_chunks = 32;  // of a block: their sums lie in shared memory
  FewRowsDivision few{};
  Division& division = few.division;
  division.chunks = core::ceil_divide(d.k, chunk_terms);
  const std::int64_t tiles = core::ceil_divide(d.n, tile_columns) * d.batch_count;
  division = split_chunks(division, least_warps, most_chunks, [&](const Division& tried) {
    return streaming_seconds(tiles * tried.splits, tried.chunks_per_split, tried.splits, d, device);
  });
  few.in_clusters = are_in_clusters(division.splits, device);
  few.chunk_warps = static_cast<int>(std::min(division.chunks_per_split, most_chunk_warps(device)));
  few.tiles = static_cast<int>(std::max<std::int64_t>(1, least_warps / few.chunk_warps));
  // One warp's ring and the sums of most_chunks fit everywhere.
  while (few.tiles > 1 && shared_bytes_of(few, d) > device.shared_bytes_per_block) --few.tiles;
  while (few.chunk_warps > 1 && shared_bytes_of(few, d) > device.shared_bytes_per_block) --few.chunk_warps;
  division.column_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.n, few.tiles * tile_columns));
  return few;
}

std::int64_t magnitude(std::int64_t stride) { return stride < 0 ? -stride : stride; }

/// Whether B lies along its terms; where it lies along neither, the nearer ones are taken for neighbours.
bool lies_along_terms(const GemmDescription& d) {
  if (d.b.row_stride == 1 || d.b.column_stride == 1) return d.b.row_stride == 1 && (d.b.column_stride != 1 || d.n == 1);
  return magnitude(d.b.row_stride) < magnitude(d.b.column_stride);
}

template <class T>
class FewRows final : public DeviceProduct {
 public:
  FewRows(std::string_view name, const plan::Problem& problem, const Device& device)
      : name_(name),
        is_transposed_(is_transposed(problem.description, orientation)),
        d_(oriented(problem.description, is_transposed_)),
        device_(device),
        few_(divide_few_rows(d_, device)) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    const Work<T, T> work{d_,
                          few_.division,
                          static_cast<const T*>(arguments.a),
                          static_cast<const T*>(arguments.b),
                          static_cast<T*>(arguments.c),
                          static_cast<T*>(launch.workspace),
                          Epilogue<T, T>(d_, arguments)};
    const Status status = d_.m == 1 ? launch_rows<1>(work, launch.stream) : launch_rows<most_rows>(work, launch.stream);
    if (!status.ok() || !few_.splits_apart()) return status;
    add_chunks(work, launch.stream);
    return check_launch(name_);
  }

  [[nodiscard]] std::string blocking() const override {
    return "columns=" + std::to_string(few_.tiles * tile_columns) + " warps=" + std::to_string(few_.warps()) +
           (few_.in_clusters ? " cluster=" : " split-K=") + std::to_string(few_.division.splits);
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    if (!few_.splits_apart()) return 0;
    return few_.division.chunks * d_.m * d_.n * d_.batch_count * static_cast<std::int64_t>(sizeof(T));
  }
  [[nodiscard]] double model_bytes() const override {
    const auto elements = static_cast<double>(d_.n) * static_cast<double>(d_.k + d_.m) +
                          static_cast<double>(d_.m) * static_cast<double>(d_.k);
    return static_cast<double>(sizeof(T)) * elements * static_cast<double>(d_.batch_count) +
           2 * static_cast<double>(workspace_bytes());
  }
  /// Memory, or the way of a warp's part of B through its ring.
  [[nodiscard]] double seconds() const {
    constexpr double launch_seconds = 3e-6, seconds_of_stage = 0.25e-6, wave_seconds = 4e-6;
    const double stages = static_cast<double>(core::ceil_divide(few_.division.chunks_per_split, few_.chunk_warps)) *
                          static_cast<double>(std::min<std::int64_t>(d_.k, chunk_terms)) * sizeof(T) / 128;
    const std::int64_t residents = std::max<std::int64_t>(1, most_chunk_warps(device_) / few_.warps());
    const double waves = static_cast<double>(few_.division.units(d_.batch_count)) /
                         static_cast<double>(residents * device_.multiprocessors);
    return launch_seconds * (few_.splits_apart() ? 2 : 1) +
           std::max(model_bytes() / (0.85 * device_.memory_bytes_per_second),
                    waves > 1 ? waves * (wave_seconds + stages * seconds_of_stage) : stages * seconds_of_stage);
  }

 private:
  template <int Rows>
  [[nodiscard]] Status launch_rows(const Work<T, T>& work, cudaStream_t stream) const {
    const bool along_terms = lies_along_terms(d_);
    const std::int64_t along = along_terms ? d_.b.row_stride : d_.b.column_stride;
    const std::int64_t across = along_terms ? d_.b.column_stride : d_.b.row_stride;
    constexpr int vector = 16 / sizeof(T);
    const bool wide = along == 1 && across % vector == 0 && d_.b.batch_stride % vector == 0 && !d_.b.pointer_array &&
                      reinterpret_cast<std::uintptr_t>(work.b) % 16 == 0;
    using enum Contiguous;
    if (along_terms)
      return wide ? launch_stream<Stream<T, Rows, terms, true>>(work, stream)
                  : launch_stream<Stream<T, Rows, terms, false>>(work, stream);
    return wide ? launch_stream<Stream<T, Rows, columns, true>>(work, stream)
                : launch_stream<Stream<T, Rows, columns, false>>(work, stream);
  }

  template <class S>
  [[nodiscard]] Status launch_stream(const Work<T, T>& work, cudaStream_t stream) const {
    static_assert(S::ring_elements * sizeof(T) <= ring_bytes(S::rows));
    const auto kernel = few_rows_kernel<S, T>;
    const std::size_t shared_bytes =
        sizeof(T) * (few_.warps() * S::ring_elements +
                     few_.tiles * static_cast<int>(few_.division.chunks_per_split) * S::rows * S::columns);
    const auto most = static_cast<int>(device_.shared_bytes_per_block);  // other products of this instance take more
    if (Status status = allow_shared_memory(kernel, most, name_); !status.ok()) return status;
    const auto blocks = static_cast<unsigned>(d_.batch_count * few_.division.splits * few_.division.column_tiles);
    const auto threads = static_cast<unsigned>(32 * few_.warps());
    return check(few_.in_clusters ? launch_clusters(static_cast<int>(few_.division.splits), kernel, blocks, threads,
                                                    shared_bytes, stream, work, few_)
                                  : launch_early(device_.compute_capability >= 90, kernel, blocks, threads,
                                                 shared_bytes, stream, work, few_),
                 "launch", name_);
  }

  std::string_view name_;
  bool is_transposed_;
  GemmDescription d_;
  Device device_;
  FewRowsDivision few_;
};

std::string_view why_refused(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, orientation));
  if (d.m > most_rows) return "for at most 4 rows or columns";
  const FewRowsDivision few = divide_few_rows(d, device);
  if (static_cast<double>(few.division.splits) * few.division.column_tiles * static_cast<double>(d.batch_count) >
      0x7fffffff)
    return "more blocks than one grid has";
  if (few.splits_apart())
    if (const std::string_view why = sums_refuse(d, few.division.chunks); !why.empty()) return why;
  return refuses(problem, orientation);
}

template <ElementType type, const std::string_view& name>
constexpr Kernel few_rows_kernel_of(std::span<const GemmTypes> types) {
  using T = DeviceElement<type>;
  return {.name = name,
          .role = "engine",
          .summary = "at most 4 rows or columns: each warp streams 32 columns of a chunk",
          .types = types,
          .least_capability = 80,
          .refuses = why_refused,
          .cost = [](const plan::Problem& p, const Device& device) { return FewRows<T>(name, p, device).seconds(); },
          .prepare = [](const plan::Problem& p, const Device& device) -> std::unique_ptr<DeviceProduct> {
            return std::make_unique<FewRows<T>>(name, p, device);
          }};
}

constexpr std::array types_f32{GemmTypes{ElementType::f32, ElementType::f32}};
constexpr std::array types_f64{GemmTypes{ElementType::f64, ElementType::f64}};
constexpr std::string_view name_f32 = "simt_f32_few_rows";
constexpr std::string_view name_f64 = "simt_f64_few_rows";

}  // namespace

const Kernel simt_f32_few_rows = few_rows_kernel_of<ElementType::f32, name_f32>(types_f32);
const Kernel simt_f64_few_rows = few_rows_kernel_of<ElementType::f64, name_f64>(types_f64);

}  // namespace exactile::cuda
