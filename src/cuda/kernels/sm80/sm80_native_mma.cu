// SPDX-License-Identifier: Apache-2.0
// `sm80_bf16_mma`, `sm80_f16_mma`, `sm80_i8_i32_mma`: the tensor cores of compute capability 8.0 through mma.sync, for
// all GPUs from there on; Hopper has faster ones of its own (`sm90_...`), which take i8 only along K. Operands that
// cannot be read where they lie are laid out anew first. A tile may be the work of several blocks of a cluster; of
// reproducible sums, the terms are summed in order of K, whatever else is computed.
//
// Traffic model: a block reads its rows of A and columns of B for each tile of C; L2 serves most.
// Limit: small products, the latency of memory and of the cluster's barriers; see docs/design/sm80_mma.md.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/checked.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm80/operand.hpp"
#include "cuda/kernels/sm80/tile.cuh"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/tiles.hpp"
#include "plan/column_major.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace {

using sm80::OperandPlan;

/// THE table of tiles.
template <class... S>
struct Shapes {
  struct Facts {
    int rows;
    int columns;
    int threads;
    int slices;
    int shared_bytes;
    int ctas;
    int stages;
  };
  static constexpr std::array facts{
      Facts{S::rows, S::columns, S::threads, S::slices, S::shared_bytes, S::ctas, S::stages}...};

  template <class In>
  using Function = void (*)(sm80::Parameters<In>);
  /// For each shape, of operands that lie [A across][B across].
  template <class In>
  static constexpr Function<In> functions[][2][2] = {
      {{sm80::mma_kernel<In, S, false, false>, sm80::mma_kernel<In, S, false, true>},
       {sm80::mma_kernel<In, S, true, false>, sm80::mma_kernel<In, S, true, true>}}...};
};
using Large = sm80::Shape<128, 128, 64, 32, 1, 3, 2>;
using Medium = sm80::Shape<64, 64, 32, 32, 2, 4, 3>;
using Flat = sm80::Shape<32, 64, 32, 32, 4, 5, 3>;
using Small = sm80::Shape<32, 32, 32, 32, 4, 6, 4>;
template <class In>
using ShapesOf = std::conditional_t<
    sizeof(In) == 1,
    Shapes<Large, sm80::Shape<64, 128, 32, 32, 1, 4, 2>, Medium, sm80::Shape<32, 128, 32, 32, 2, 4, 2>, Flat, Small>,
    Shapes<Large, Medium, Flat, Small>>;

/// A product whose rows of C are contiguous if anything is.
GemmDescription oriented(const GemmDescription& d) { return plan::is_column_major(d) ? plan::transposed(d) : d; }

template <class In>
class Product final : public DeviceProduct {
 public:
  Product(const GemmDescription& d, const Device& device, const Configuration& configuration, std::string_view kernel)
      : is_transposed_(plan::is_column_major(d)),
        d_(oriented(d)),
        kernel_(kernel),
        ranks_(std::max(1, configuration.split_k)),
        has_clusters_(device.compute_capability >= 90),
        a_(d_.a, d_.types.input, d_.m, d_.k, configuration.pack > 0),
        b_(plan::transposed(d_.b), d_.types.input, d_.n, d_.k, configuration.pack > 0),
        at_once_(products_at_once(d_, a_.product_bytes() + b_.product_bytes())) {
    while (tile().rows != configuration.bm || tile().columns != configuration.bn) ++shape_;
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments arguments = is_transposed_ ? plan::transposed(launch.arguments) : launch.arguments;
    const bool copies_a = !a_.stays(arguments.a);
    const bool copies_b = !b_.stays(arguments.b);
    const auto function =
        ShapesOf<In>::template functions<In>[shape_][!copies_a && a_.lies_across()][!copies_b && b_.lies_across()];
    if (Status s = allow_shared_memory(function, tile().shared_bytes, kernel_); !s.ok()) return s;
    const std::int64_t step = copies_a || copies_b ? at_once_ : d_.batch_count;
    for (std::int64_t first = 0; first < d_.batch_count; first += step) {
      const std::int64_t products = std::min(step, d_.batch_count - first);
      auto* room = static_cast<char*>(launch.workspace);
      constexpr std::int64_t stage_k = sm80::stage_bytes / sizeof(In);
      sm80::Parameters<In> work{.a = {},
                                .b = {},
                                .c = const_cast<void*>(from_product(arguments.c, d_.c, d_.types.output, first)),
                                .c_layout = d_.c,
                                .k = d_.k,
                                .slice_k = core::round_up(core::ceil_divide(d_.k, ranks_), stage_k),
                                .ranks = ranks_,
                                .stores_sums = d_.types.output != d_.types.input,
                                .of_sums = {d_, arguments},
                                .of_elements = {d_, arguments}};
      if (Status s = place(work.a, a_, d_.m, arguments.a, copies_a, first, products, room, launch.stream); !s.ok())
        return s;
      if (Status s = place(work.b, b_, d_.n, arguments.b, copies_b, first, products, room, launch.stream); !s.ok())
        return s;
      const auto blocks = static_cast<unsigned>(tile_count(d_, tile().rows, tile().columns) * products * work.ranks);
      const auto threads = static_cast<unsigned>(tile().threads);
      const auto shared_bytes = static_cast<std::size_t>(tile().shared_bytes);
      if (Status s = check(
              launch_clusters(has_clusters_, ranks_, function, blocks, threads, shared_bytes, launch.stream, work),
              "launch", kernel_);
          !s.ok())
        return s;
    }
    return {};
  }

  [[nodiscard]] std::string blocking() const override {
    return "BM=" + std::to_string(tile().rows) + " BN=" + std::to_string(tile().columns) +
           " BK=" + std::to_string(sm80::stage_bytes / sizeof(In)) + " stages=" + std::to_string(tile().stages) +
           (ranks_ > 1 ? " SPLIT_K=" + std::to_string(ranks_) + ", split-K in clusters" : "") +
           (a_.may_stay() ? "" : ", A copied") + (b_.may_stay() ? "" : ", B copied");
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return at_once_ * (a_.most_copied_bytes() + b_.most_copied_bytes());
  }
  [[nodiscard]] std::int64_t workspace_bytes_for(const GemmArguments& given) const override {
    const GemmArguments arguments = is_transposed_ ? plan::transposed(given) : given;
    return at_once_ *
           ((a_.stays(arguments.a) ? 0 : a_.product_bytes()) + (b_.stays(arguments.b) ? 0 : b_.product_bytes()));
  }
  [[nodiscard]] double model_bytes() const override {
    return tiled_bytes(d_, tile().rows, tile().columns) +
           2.0 * static_cast<double>(d_.batch_count) *
               static_cast<double>((a_.may_stay() ? 0 : a_.product_bytes()) + (b_.may_stay() ? 0 : b_.product_bytes()));
  }

 private:
  [[nodiscard]] const auto& tile() const { return ShapesOf<In>::facts[static_cast<std::size_t>(shape_)]; }

  /// The rows (columns of B) of products `first` and on: where they lie, or copied to `room`, which then moves on.
  Status place(sm80::Vectors<In>& vectors, const OperandPlan& operand, std::int64_t count, const void* data,
               bool copies, std::int64_t first, std::int64_t products, char*& room, cudaStream_t stream) const {
    const void* from = from_product(data, operand.layout(), d_.types.input, first);
    if (copies) {
      if (Status s = operand.copy(from, room, products, stream, kernel_); !s.ok()) return s;
      from = room;
      room += at_once_ * operand.product_bytes();
    }
    vectors = {static_cast<const In*>(from), operand.vector_stride(copies), operand.batch_stride(copies), count,
               copies ? 16 : operand.width(data)};
    return {};
  }

  bool is_transposed_;
  GemmDescription d_;
  std::string_view kernel_;
  int shape_ = 0;
  int ranks_;
  bool has_clusters_;
  OperandPlan a_;
  OperandPlan b_;
  std::int64_t at_once_;
};

std::string_view refuses(const plan::Problem& problem, const Device&) {
  if (problem.accuracy != Accuracy::standard && problem.accuracy != Accuracy::reduced)
    return "keeps the bound of the plain loop only";
  const GemmDescription d = oriented(problem.description);
  return refuses_blocks(tile_count(d, Large::rows, Large::columns) * d.batch_count * sm80::group_rows);
}

constexpr int path_of_elements = 4;

/// By one tile, K divided among so many blocks.
template <class Facts>
Candidate candidate(const GemmDescription& d, const Facts& tile, int ranks, bool packs, const Device& device) {
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  const auto element = real(size_in_bytes(d.types.input));
  const OperandPlan a(d.a, d.types.input, d.m, d.k, packs);
  const OperandPlan b(plan::transposed(d.b), d.types.input, d.n, d.k, packs);
  const std::int64_t copied = (a.may_stay() ? 0 : a.product_bytes()) + (b.may_stay() ? 0 : b.product_bytes());
  const int width = std::min(a.may_stay() ? a.width() : 16, b.may_stay() ? b.width() : 16);
  const int path = width == 2                           ? path_of_elements
                   : width == 4                         ? 3
                   : width == 8                         ? 2
                   : a.lies_across() || b.lies_across() ? 1
                                                        : 0;
  return {{.bm = tile.rows, .bn = tile.columns, .split_k = ranks, .pack = packs ? 1 : 0},
          {.tiles = real(tile_count(d, tile.rows, tile.columns) * d.batch_count * ranks),
           .slots = real(sms_filled(device, ranks) * tile.ctas / ranks * ranks),
           .ctas = tile.ctas,
           .steps = std::ceil(real(d.k) * element / (sm80::stage_bytes * ranks)),
           .bytes = element * real(d.m + d.n) * real(d.k * d.batch_count) +
                    real(size_in_bytes(d.types.output) * d.m * d.n * d.batch_count),
           .turned_bytes = 2.0 * real(copied * d.batch_count),
           .side_kernels = (a.may_stay() ? 0 : 1) + (b.may_stay() ? 0 : 1),
           .path = path}};
}

/// All tiles that are few enough, also with K divided among the blocks of a cluster, a stage each at least, where the
/// device has room for them; the largest also with operands packed that could be read by elements. What is reproducible
/// takes K in order.
template <class In>
std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription d = oriented(problem.description);
  const bool in_order = problem.reproducible && is_floating(d.types.input);
  const bool has_clusters = device.compute_capability >= 90 && waits_for_kernel_before;
  const int clusters = !in_order && has_clusters ? sm80::most_ranks : 1;
  std::vector<Candidate> all;
  for (const auto& tile : ShapesOf<In>::facts)
    for (int ranks = 1; ranks <= clusters && !(in_order && tile.slices > 1); ranks *= 2) {
      if (ranks > 1 && d.k * size_in_bytes(d.types.input) <= (ranks - 1) * sm80::stage_bytes) break;
      const Candidate made = candidate(d, tile, ranks, false, device);
      const bool fits = refuses_blocks(static_cast<std::int64_t>(made.demand.tiles) * sm80::group_rows).empty();
      if (!fits || (ranks > 1 && made.demand.tiles > 2 * made.demand.slots)) break;
      all.push_back(made);
      if (made.demand.path == path_of_elements && tile.rows == Large::rows && ranks == 1)
        all.push_back(candidate(d, tile, ranks, true, device));
    }
  return all;
}

/// The kernel of that element type.
template <class T, const std::string_view& name>
constexpr Kernel kernel_of(std::span<const GemmTypes> types, std::string_view summary) {
  return {.name = name,
          .role = "engine",
          .summary = summary,
          .types = types,
          .least_capability = 80,
          .refuses = refuses,
          .candidates = candidates<T>,
          .make = [](const plan::Problem& p, const Device& device,
                     const Configuration& configuration) -> std::unique_ptr<DeviceProduct> {
            return std::make_unique<Product<T>>(p.description, device, configuration, name);
          },
          .has_instances = true};
}

using enum ElementType;
constexpr std::array bf16_types{GemmTypes{bf16, bf16}, GemmTypes{bf16, f32}};
constexpr std::array f16_types{GemmTypes{f16, f16}, GemmTypes{f16, f32}};
constexpr std::array i8_types{GemmTypes{i8, i32}};
constexpr std::string_view bf16_name = "sm80_bf16_mma";
constexpr std::string_view f16_name = "sm80_f16_mma";
constexpr std::string_view i8_name = "sm80_i8_i32_mma";

}  // namespace

const Kernel sm80_bf16_mma =
    kernel_of<__nv_bfloat16, bf16_name>(bf16_types, "bf16 on tensor cores through mma.sync, summed in f32");
const Kernel sm80_f16_mma =
    kernel_of<__half, f16_name>(f16_types, "f16 on tensor cores through mma.sync, summed in f32");
const Kernel sm80_i8_i32_mma =
    kernel_of<std::int8_t, i8_name>(i8_types, "i8 on tensor cores through mma.sync, summed in i32");

}  // namespace exactile::cuda
