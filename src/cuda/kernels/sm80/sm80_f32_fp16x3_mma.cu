// SPDX-License-Identifier: Apache-2.0
// `sm80_f32_fp16x3_mma`: f32 products as three products of f16 slices through mma.sync, for all GPUs from compute
// capability 8.0 on. Both operands are split on their way from memory to shared memory, so that nothing is written but
// C. Tiles with elements of C for which two slices cannot keep the promise are summed again in f32 by the same block.
//
// Traffic model: a block reads its rows of A and columns of B for each tile of C; L2 serves most.
// Limit: see docs/design/sm80_mma.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/checked.hpp"
#include "cuda/kernels/sm80/f32_tile.cuh"
#include "cuda/kernels/sm80/sm80_kernels.hpp"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/tiles.hpp"
#include "plan/column_major.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace sm80 {
namespace {

constexpr std::string_view f32_name = "sm80_f32_fp16x3_mma";
constexpr std::array f32_types{GemmTypes{ElementType::f32, ElementType::f32}};

using Large = F32Shape<4, 4, 32, 1>;  // 128 x 128
using Small = F32Shape<2, 4, 16, 2>;  // 64 x 64

template <class S>
[[nodiscard]] std::int64_t work_tile_count(const GemmDescription& d) {
  return tile_count(d, S::bm, S::bn) * d.batch_count;
}

/// Whether the rows or columns of an operand are contiguous and begin at multiples of 16 bytes, if its first does.
[[nodiscard]] bool loads_by_vectors(const OperandLayout& layout) {
  const auto [less, more] = std::minmax({std::abs(layout.row_stride), std::abs(layout.column_stride)});
  return less == 1 && more % 4 == 0;
}

class F32Product final : public DeviceProduct {
 public:
  F32Product(const GemmDescription& d, bool is_large, const Device& device)
      : is_transposed_(plan::is_column_major(d)),
        d_(is_transposed_ ? plan::transposed(d) : d),
        is_large_(is_large),
        sm_count_(device.sm_count) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    return is_large_ ? enqueue<Large>(launch) : enqueue<Small>(launch);
  }
  [[nodiscard]] std::string blocking() const override {
    return is_large_ ? "BM=128 BN=128 BK=32 KC=32" : "BM=64 BN=64 BK=32 KC=32";
  }
  [[nodiscard]] double model_bytes() const override {
    const int tile = is_large_ ? Large::bm : Small::bm;
    return tiled_bytes(d_, tile, tile) + 4.0 * static_cast<double>(d_.m * d_.n * d_.batch_count);
  }
  [[nodiscard]] std::vector<Path> paths() const override {
    return {{"f16x3", "tiles", "all of C"},
            {"plain", "tiles",
             "tiles with elements that may be too small for the error of their row's and column's tiny elements (less "
             "than 2^-14 to 2^-17 of the largest), which f16 slices do not hold: those are summed in f32"}};
  }

 private:
  template <class S>
  [[nodiscard]] Status enqueue(const Launch& launch) const {
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    const auto is_k_major = [](std::int64_t k_stride, std::int64_t other) {
      return std::abs(k_stride) <= std::abs(other);
    };
    constexpr float margin = 1.25f;  // the sum has errors too
    const auto work_tiles = static_cast<std::uint32_t>(work_tile_count<S>(d_));
    const F32Work work{
        .product = {.d = d_,
                    .division = {.row_tiles = static_cast<std::uint32_t>(core::ceil_divide(d_.m, S::bm)),
                                 .column_tiles = static_cast<std::uint32_t>(core::ceil_divide(d_.n, S::bn))},
                    .a = static_cast<const float*>(arguments.a),
                    .b = static_cast<const float*>(arguments.b),
                    .c = static_cast<float*>(arguments.c),
                    .sums = nullptr,
                    .epilogue = Epilogue<float, float>(d_, arguments)},
        .a_k_major = is_k_major(d_.a.column_stride, d_.a.row_stride),
        .b_k_major = is_k_major(d_.b.row_stride, d_.b.column_stride),
        .work_tiles = work_tiles,
        .underflow_scale = margin * Fp16x3::underflow_error(static_cast<int>(d_.k)) * 0x1p24f /
                           static_cast<float>(d_.k - mma_roundings(d_.k)),
        .tiles = launch.path_counts};
    constexpr int shared_bytes = sizeof(F32Space<S>);
    if (Status s = allow_shared_memory(f32_mma_kernel<S>, shared_bytes, f32_name); !s.ok()) return s;
    const std::uint32_t blocks = std::min(work_tiles, static_cast<std::uint32_t>(sm_count_ * S::blocks_per_sm));
    f32_mma_kernel<S><<<blocks, S::threads, shared_bytes, launch.stream>>>(work);
    return check_launch(f32_name);
  }

  bool is_transposed_;
  GemmDescription d_;
  bool is_large_;
  int sm_count_;
};

std::string_view f32_refuses(const plan::Problem& problem, const Device& device) {
  const GemmDescription& d = problem.description;
  if (d.k < 64) return "needs k >= 64 to keep the bound";
  if (d.k > 1 << 20) return "needs k <= 2^20 to keep the bound";
  constexpr std::int64_t most = 1 << 30;
  if (d.m > most || d.n > most) return "needs m and n to be at most 2^30";
  const double tiles =
      std::ceil(static_cast<double>(d.m) / Small::bm) * std::ceil(static_cast<double>(d.n) / Small::bn);
  if (tiles * static_cast<double>(d.batch_count) > 0x7fffffff) return "C has more tiles than one grid has blocks";
  // See docs/accuracy-proofs.md: how mma.sync sums is known from experiments with these.
  const bool is_known = device.compute_capability == 80 || device.compute_capability == 90;
  if (problem.accuracy == Accuracy::reduced || (problem.accuracy == Accuracy::standard && is_known)) return "";
  return problem.accuracy == Accuracy::standard
             ? "how this device's mma.sync sums is not known: for accuracy reduced only"
             : "keeps the bound of the plain loop only";
}

template <class S>
Candidate f32_candidate(const GemmDescription& d, const Device& device) {
  const double bytes =
      4.0 * static_cast<double>(d.batch_count) *
      (static_cast<double>(d.m + d.n) * static_cast<double>(d.k) + static_cast<double>(d.m) * static_cast<double>(d.n));
  return {{.bm = S::bm, .bn = S::bn},
          {.tiles = static_cast<double>(work_tile_count<S>(d)),
           .slots = static_cast<double>(device.sm_count) * S::blocks_per_sm,
           .steps = static_cast<double>(core::ceil_divide(d.k, chunk_k)),
           .bytes = bytes,
           .path = loads_by_vectors(d.a) && loads_by_vectors(d.b) ? 0 : 1}};
}

std::vector<Candidate> f32_candidates(const plan::Problem& problem, const Device& device) {
  const GemmDescription& whole = problem.description;
  const GemmDescription d = plan::is_column_major(whole) ? plan::transposed(whole) : whole;
  return {f32_candidate<Large>(d, device), f32_candidate<Small>(d, device)};
}

}  // namespace
}  // namespace sm80

const Kernel sm80_f32_fp16x3_mma{
    .name = sm80::f32_name,
    .role = "engine",
    .summary = "f32 as two scaled f16 slices, split in registers; three products through mma.sync",
    .types = sm80::f32_types,
    .least_capability = 80,
    .refuses = sm80::f32_refuses,
    .candidates = sm80::f32_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<sm80::F32Product>(p.description, c.bm == sm80::Large::bm, device);
    },
    .has_instances = true};

}  // namespace exactile::cuda
