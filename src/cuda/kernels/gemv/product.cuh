// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host side of vectors times a matrix: the instance that an address allows, and its launch.
#pragma once

#include <memory>
#include <string>

#include "core/checked.hpp"
#include "cuda/kernels/gemv/gemv.cuh"
#include "cuda/tile/early_launch.cuh"
#include "plan/transposed.hpp"

namespace exactile::cuda::gemv_family {

template <class In>
class Product final : public DeviceProduct {
 public:
  Product(const GemmDescription& d, const Device& device, const Configuration& configuration)
      : is_transposed_(is_transposed(d)),
        d_(oriented(d)),
        division_(division_of(d_, device, configuration.split_k, lanes_of(d_, device, configuration))),
        can_start_early_(device.compute_capability >= 90) {
    if (!waits_for_kernel_before) division_.ranks = 1;
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments arguments = is_transposed_ ? plan::transposed(launch.arguments) : launch.arguments;
    const Parameters<In> p{.d = d_,
                           .a = static_cast<const In*>(arguments.a),
                           .w = static_cast<const In*>(arguments.b),
                           .c = arguments.c,
                           .sums = static_cast<DeviceAccumulator<In>*>(launch.workspace),
                           .epilogue = Epilogue<In, UsualOut<In>>(d_, arguments),
                           .epilogue_of_sums = Epilogue<In, DeviceAccumulator<In>>(d_, arguments),
                           .c_is_of_sums = d_.types.output == accumulator_type(d_.types.input),
                           .column_tiles = 0,
                           .k_of_slice = division_.k_of_slice,
                           .split_k = division_.split_k,
                           .ranks = division_.ranks};
    const Status status = division_.contiguous == Contiguous::k ? launch_where<Contiguous::k>(p, launch.stream)
                                                                : launch_where<Contiguous::n>(p, launch.stream);
    if (!status.ok() || !division_.reduces_in_memory()) return status;
    return check(launch_early(can_start_early_, reduce_kernel<In>, reduce_ctas(), threads, 0, launch.stream, p),
                 "launch", name);
  }

  [[nodiscard]] std::string blocking() const override {
    return "BM=" + std::to_string(division_.rows) + " BN=" + std::to_string(division_.tile_columns) +
           " SPLIT_K=" + std::to_string(division_.split_k) +
           (division_.contiguous == Contiguous::k ? ", along K" : ", along N") +
           (division_.ranks > 1 ? ", split-K in clusters" : "") + (is_transposed_ ? ", as C^T" : "");
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return gemv_family::workspace_bytes(d_, division_); }
  [[nodiscard]] double model_bytes() const override {
    const auto m = static_cast<double>(d_.m), n = static_cast<double>(d_.n), k = static_cast<double>(d_.k);
    return static_cast<double>(d_.batch_count) *
               (sizeof(In) * (m + n) * k + static_cast<double>(size_in_bytes(d_.types.output)) * m * n) +
           2 * static_cast<double>(workspace_bytes());
  }

 private:
  template <Contiguous where>
  [[nodiscard]] Status launch_where(const Parameters<In>& p, cudaStream_t stream) const {
    constexpr bool is_i8_along_k = std::is_same_v<In, std::int8_t> && where == Contiguous::k;
    const Lines lines = lines_of(d_, p.w);
    if (lines == Lines::aligned) return launch_rows<where, Lines::aligned>(p, stream);
    if constexpr (is_i8_along_k)
      if (lines == Lines::words) return launch_rows<where, Lines::words>(p, stream);
    if constexpr (!is_i8_along_k && sizeof(In) < 16)
      if (lines == Lines::shifted) return launch_rows<where, Lines::shifted>(p, stream);
    if constexpr (sizeof(In) < 16) return launch_rows<where, Lines::elements>(p, stream);
    return {};
  }

  template <Contiguous where, Lines lines>
  [[nodiscard]] Status launch_rows(const Parameters<In>& p, cudaStream_t stream) const {
    constexpr int few = few_lanes(type, where);
    if constexpr (has_few_lanes(type, where, lines)) {
      // An address may begin lines elsewhere than was planned: then tiles of other columns would be too few.
      constexpr bool is_fixed = where == Contiguous::n || !multiplies_by_mma(type, where, lines, few);
      const bool has_tile = is_fixed || division_.tile_columns == Shape<In, 1, where, lines, few>::window;
      if (division_.lanes == few && has_tile) return launch_shape<where, lines, few>(p, stream);
    }
    return launch_shape<where, lines, 32>(p, stream);
  }

  template <Contiguous where, Lines lines, int lanes>
  [[nodiscard]] Status launch_shape(const Parameters<In>& p, cudaStream_t stream) const {
    if constexpr (has_all)
      if (division_.rows == 2) return enqueue<Shape<In, 2, where, lines, lanes>>(p, stream);
    switch (division_.rows) {
      case 1: return enqueue<Shape<In, 1, where, lines, lanes>>(p, stream);
      case 4: return enqueue<Shape<In, 4, where, lines, lanes>>(p, stream);
      default: return enqueue<Shape<In, most_rows, where, lines, lanes>>(p, stream);
    }
  }

  template <class S>
  [[nodiscard]] Status enqueue(Parameters<In> p, cudaStream_t stream) const {
    p.column_tiles = static_cast<unsigned>(core::ceil_divide(d_.n, std::int64_t{S::tile_columns}));
    const auto ctas = static_cast<unsigned>(p.column_tiles * division_.split_k * d_.batch_count);
    return check(
        launch_clusters(can_start_early_, division_.ranks, gemv_kernel<S>, ctas, threads, shared_bytes<S>, stream, p),
        "launch", name);
  }

  [[nodiscard]] unsigned reduce_ctas() const {
    constexpr std::int64_t most = 1 << 20;
    return static_cast<unsigned>(
        std::min(core::ceil_divide(d_.m * d_.n * d_.batch_count, std::int64_t{threads}), most));
  }

  static constexpr ElementType type = Shape<In, 1, Contiguous::k, Lines::aligned>::type;
  static constexpr bool has_all = has_all_instances(type);
  bool is_transposed_;
  GemmDescription d_;  ///< as computed
  Division division_;
  bool can_start_early_;
};

template <class In>
std::unique_ptr<DeviceProduct> make(const GemmDescription& d, const Device& device, const Configuration& c) {
  return std::make_unique<Product<In>>(d, device, c);
}

}  // namespace exactile::cuda::gemv_family
