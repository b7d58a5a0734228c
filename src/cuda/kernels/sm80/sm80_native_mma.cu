// SPDX-License-Identifier: Apache-2.0
// `sm80_bf16_mma`, `sm80_f16_mma`, `sm80_i8_i32_mma`: the tensor cores of compute capability 8.0 through mma.sync, for
// all GPUs from there on; Hopper has faster ones of its own (`sm90_...`). Operands whose terms are not contiguous or
// not aligned are laid out anew first. Terms are summed in order of K, whatever else is computed.
//
// Traffic model: a block reads 128 rows of A and 128 columns of B for each tile of C; L2 serves most.
// Limit: not profiled, see docs/design/sm80_mma.md.
#include <algorithm>
#include <array>

#include "core/checked.hpp"
#include "cuda/kernels/sm80/operand.hpp"
#include "cuda/kernels/sm80/sm80_kernels.hpp"
#include "cuda/kernels/sm80/tile.cuh"
#include "cuda/tile/dispatch.cuh"
#include "cuda/tile/tiles.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace {

using sm80::OperandPlan;

template <class In, class Out>
class Product final : public DeviceProduct {
 public:
  Product(const GemmDescription& d, std::string_view kernel)
      : d_(d),
        kernel_(kernel),
        a_(d.a, d.types.input, d.m, d.k),
        b_(plan::transposed(d.b), d.types.input, d.n, d.k),
        at_once_(products_at_once(d, a_.product_bytes() + b_.product_bytes())) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments& arguments = launch.arguments;
    const bool copies_a = !a_.stays(arguments.a);
    const bool copies_b = !b_.stays(arguments.b);
    const std::int64_t step = copies_a || copies_b ? at_once_ : d_.batch_count;
    for (std::int64_t first = 0; first < d_.batch_count; first += step) {
      const std::int64_t products = std::min(step, d_.batch_count - first);
      auto* room = static_cast<char*>(launch.workspace);
      sm80::Parameters<In, Out> work{.a = {},
                                     .b = {},
                                     .c = {},
                                     .c_layout = d_.c,
                                     .k = d_.k,
                                     .batch = products,
                                     .epilogue = Epilogue<In, Out>(d_, arguments)};
      if (Status s = place(work.a, a_, d_.m, arguments.a, copies_a, first, products, room, launch.stream); !s.ok())
        return s;
      if (Status s = place(work.b, b_, d_.n, arguments.b, copies_b, first, products, room, launch.stream); !s.ok())
        return s;
      work.c = static_cast<Out*>(const_cast<void*>(from_product(arguments.c, d_.c, d_.types.output, first)));
      GemmDescription part = d_;
      part.batch_count = products;
      sm80::mma_kernel<<<layered_grid(part, tile_count(d_, sm80::tile, sm80::tile)), sm80::threads, 0, launch.stream>>>(
          work);
      if (Status s = check_launch(kernel_); !s.ok()) return s;
    }
    return {};
  }

  [[nodiscard]] std::string blocking() const override {
    return "BM=128 BN=128 BK=" + std::to_string(sm80::stage_bytes / sizeof(In)) + " stages=3" +
           (a_.may_stay() ? "" : ", A copied") + (b_.may_stay() ? "" : ", B copied");
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return at_once_ * (a_.product_bytes() + b_.product_bytes());
  }
  [[nodiscard]] std::int64_t workspace_bytes_for(const GemmArguments& arguments) const override {
    return at_once_ *
           ((a_.stays(arguments.a) ? 0 : a_.product_bytes()) + (b_.stays(arguments.b) ? 0 : b_.product_bytes()));
  }
  [[nodiscard]] double model_bytes() const override {
    return tiled_bytes(d_, sm80::tile, sm80::tile) +
           2.0 * static_cast<double>(d_.batch_count) *
               static_cast<double>((a_.may_stay() ? 0 : a_.product_bytes()) + (b_.may_stay() ? 0 : b_.product_bytes()));
  }

 private:
  /// The rows (columns of B) of products `first` and on: where they lie, or copied to `room`, which then moves on.
  Status place(sm80::Vectors<In>& vectors, const OperandPlan& operand, std::int64_t count, const void* data,
               bool copies, std::int64_t first, std::int64_t products, char*& room, cudaStream_t stream) const {
    const void* from = from_product(data, operand.layout(), d_.types.input, first);
    if (copies) {
      if (Status s = operand.copy(from, room, products, stream, kernel_); !s.ok()) return s;
      from = room;
      room += at_once_ * operand.product_bytes();
    }
    vectors = {static_cast<const In*>(from), operand.vector_stride(copies), operand.batch_stride(copies), count};
    return {};
  }

  GemmDescription d_;
  std::string_view kernel_;
  OperandPlan a_;
  OperandPlan b_;
  std::int64_t at_once_;
};

std::string_view refuses(const plan::Problem& problem, const Device&) {
  if (problem.accuracy != Accuracy::standard && problem.accuracy != Accuracy::reduced)
    return "keeps the bound of the plain loop only";
  return refuses_blocks(tile_count(problem.description, sm80::tile, sm80::tile));
}

std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription& d = problem.description;
  const auto element = static_cast<double>(size_in_bytes(d.types.input));
  const OperandPlan a(d.a, d.types.input, d.m, d.k);
  const OperandPlan b(plan::transposed(d.b), d.types.input, d.n, d.k);
  const std::int64_t copied = (a.may_stay() ? 0 : a.product_bytes()) + (b.may_stay() ? 0 : b.product_bytes());
  return {{{.bm = sm80::tile, .bn = sm80::tile},
           {.tiles = static_cast<double>(tile_count(d, sm80::tile, sm80::tile)) * static_cast<double>(d.batch_count),
            .slots = static_cast<double>(device.sm_count),
            .steps = std::ceil(static_cast<double>(d.k) * element / sm80::stage_bytes),
            .bytes = element * static_cast<double>(d.m + d.n) * static_cast<double>(d.k * d.batch_count),
            .turned_bytes = 2.0 * static_cast<double>(copied) * static_cast<double>(d.batch_count),
            .side_kernels = (a.may_stay() ? 0 : 1) + (b.may_stay() ? 0 : 1)}}};
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
          .candidates = candidates,
          .make = [](const plan::Problem& p, const Device&, const Configuration&) {
            return with_types(p.description.types, [&]<class In, class Out>() -> std::unique_ptr<DeviceProduct> {
              if constexpr (std::is_same_v<In, T>) {
                return std::make_unique<Product<In, Out>>(p.description, name);
              } else {
                return nullptr;  // not among `types`
              }
            });
          }};
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
