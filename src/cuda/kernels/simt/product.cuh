// SPDX-License-Identifier: Apache-2.0
/// \file
/// The host side of the SIMT engine: which instance of the kernel runs, and its launch.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "cuda/kernel.hpp"
#include "cuda/kernels/simt/tile_kernel.cuh"

namespace exactile::cuda::simt {

template <class In, class Out>
using TileKernel = void (*)(Work<In, Out>);

template <class S>
constexpr TileKernel<typename S::In, typename S::Out> kernel_for(Walk a, Walk b) {
  using enum Walk;
  if (a == along_terms)
    return b == along_terms ? tile_kernel<S, along_terms, along_terms> : tile_kernel<S, along_terms, along_rows>;
  return b == along_terms ? tile_kernel<S, along_rows, along_terms> : tile_kernel<S, along_rows, along_rows>;
}

/// The direction in which an operand's elements are closer to each other.
[[nodiscard]] inline Walk walk_for(std::int64_t rows, std::int64_t row_stride, std::int64_t term_stride) {
  return rows == 1 || std::abs(term_stride) < std::abs(row_stride) ? Walk::along_terms : Walk::along_rows;
}

/// Of a shape on devices of compute capability 9.0: cycles measured, see docs/measurements/.
template <class S>
constexpr TileCost tile_cost(double cycles_alone, double cycles_together) {
  return {S::bm, S::bn, S::blocks_per_sm, cycles_alone, cycles_together};
}

template <class S>
class Product final : public DeviceProduct {
 public:
  using In = typename S::In;
  using Out = typename S::Out;
  using Sum = typename S::Sum;

  Product(std::string_view name, const plan::Problem& problem, const Device& device, const TileCost& cost)
      : name_(name),
        given_(problem.description),
        d_(oriented(problem.description)),
        division_(divide(d_, device, cost).division),
        walk_a_(walk_for(d_.m, d_.a.row_stride, d_.a.column_stride)),
        walk_b_(walk_for(d_.n, d_.b.column_stride, d_.b.row_stride)) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments arguments = oriented(given_, launch.arguments);
    const Work<In, Out> work{d_,
                             division_,
                             static_cast<const In*>(arguments.a),
                             static_cast<const In*>(arguments.b),
                             static_cast<Out*>(arguments.c),
                             static_cast<Sum*>(launch.workspace),
                             Epilogue<In, Out>(d_, arguments)};
    const std::int64_t blocks =
        d_.batch_count * division_.splits * division_.row_tiles * static_cast<std::int64_t>(division_.column_tiles);
    const TileKernel<In, Out> kernel = kernel_for<S>(walk_a_, walk_b_);
    const int shared = shared_bytes();
    if (constexpr int always_allowed = 48 << 10; shared > always_allowed)
      if (const Status status = check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
                                      "cudaFuncSetAttribute", name_);
          !status.ok())
        return status;
    kernel<<<static_cast<unsigned>(blocks), S::threads, shared, launch.stream>>>(work);
    if (const Status status = check_launch(name_); !status.ok() || division_.splits == 1) return status;
    constexpr std::int64_t most_blocks = 1 << 20;
    const std::int64_t elements = d_.m * d_.n * d_.batch_count;
    add_chunks_kernel<<<static_cast<unsigned>(std::min(most_blocks, (elements - 1) / 256 + 1)), 256, 0,
                        launch.stream>>>(work);
    return check_launch(name_);
  }

  [[nodiscard]] std::string blocking() const override {
    return "BM=" + std::to_string(S::bm) + " BN=" + std::to_string(S::bn) + " BK=" + std::to_string(S::bk) +
           " TM=" + std::to_string(S::tm) + " TN=" + std::to_string(S::tn) + " stages=" + std::to_string(S::stages) +
           " split-K=" + std::to_string(division_.splits);
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    if (division_.splits == 1 && std::is_same_v<Out, Sum>) return 0;
    const std::int64_t copies = division_.splits == 1 ? 1 : division_.chunks;
    return copies * d_.m * d_.n * d_.batch_count * static_cast<std::int64_t>(sizeof(Sum));
  }

  /// Each row of tiles reads B once and each column of tiles A; every chunk reads and writes its totals.
  [[nodiscard]] double model_bytes() const override {
    const auto m = static_cast<double>(d_.m), n = static_cast<double>(d_.n), k = static_cast<double>(d_.k);
    return static_cast<double>(d_.batch_count) *
           (static_cast<double>(sizeof(In)) * k * (m * division_.column_tiles + n * division_.row_tiles) +
            static_cast<double>(sizeof(Sum)) * m * n * (2 * static_cast<double>(division_.chunks) - 1));
  }

 private:
  [[nodiscard]] int shared_bytes() const {
    using enum Walk;
    const bool a = walk_a_ == along_terms, b = walk_b_ == along_terms;
    if (a)
      return b ? Mainloop<S, along_terms, along_terms>::shared_bytes
               : Mainloop<S, along_terms, along_rows>::shared_bytes;
    return b ? Mainloop<S, along_rows, along_terms>::shared_bytes : Mainloop<S, along_rows, along_rows>::shared_bytes;
  }

  std::string_view name_;
  GemmDescription given_;
  GemmDescription d_;
  Division division_;
  Walk walk_a_;
  Walk walk_b_;
};

/// Estimated seconds.
[[nodiscard]] inline double estimate(const plan::Problem& problem, const Device& device, const TileCost& cost) {
  return divide(oriented(problem.description), device, cost).seconds;
}

/// The entry of a kernel that is `S` for its one pair of types.
template <class S, const TileCost& cost, const std::string_view& name>
constexpr Kernel kernel_of(std::span<const GemmTypes> types, std::string_view summary) {
  return {.name = name,
          .role = "engine",
          .summary = summary,
          .types = types,
          .refuses = [](const plan::Problem& p, const Device&) { return refuses(p, S::bm, S::bn); },
          .cost = [](const plan::Problem& p, const Device& device) { return estimate(p, device, cost); },
          .prepare = [](const plan::Problem& p, const Device& device) -> std::unique_ptr<DeviceProduct> {
            return std::make_unique<Product<S>>(name, p, device, cost);
          }};
}

}  // namespace exactile::cuda::simt
