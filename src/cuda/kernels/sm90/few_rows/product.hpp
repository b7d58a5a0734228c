// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host side of products with few rows of 8 and 16 bits.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "cuda/kernels/sm90/few_rows/stream.cuh"
#include "cuda/kernels/sm90/native/plan.hpp"
#include "cuda/kernels/sm90/tensor_map.hpp"
#include "cuda/runtime/shared_memory.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::sm90::few_rows {

inline constexpr std::string_view name = "sm90_few_rows";
inline constexpr int most_rows = 16;
inline constexpr int most_cluster = 8;

/// Of C, or of C^T = B^T A^T where that has fewer rows.
[[nodiscard]] inline bool is_transposed(const GemmDescription& d) { return d.n < d.m; }
[[nodiscard]] inline GemmDescription as_computed(const GemmDescription& d) {
  return native::reachable(is_transposed(d) ? plan::transposed(d) : d);
}

/// Rows that the kernel computes, those there are or more.
[[nodiscard]] inline int rows_of(const GemmDescription& d) { return d.m <= 8 ? 8 : 16; }

/// A CTA's pipelines with their barriers, and the sums that it keeps.
[[nodiscard]] inline int shared_bytes(const Division& division, int rows) {
  constexpr int alignment = 1024;
  return alignment + division.warps * division.stages * ((tile_n + rows) * stage_bytes + 8) +
         division.sums_of_cta() * rows * tile_n * 4;
}

/// Of d as computed. K slices depend on k alone, the grid on all.
[[nodiscard]] Division division_of(const GemmDescription& d, const Configuration& configuration);

[[nodiscard]] std::string_view refuses(const plan::Problem& problem, const Device& device);

/// Whether TMA can read both operands of d as computed, from there.
[[nodiscard]] bool are_reachable(const GemmDescription& d, const void* a, const void* b);

/// A product of elements In: bf16, f16 or i8.
template <class In>
class Product final : public DeviceProduct {
 public:
  Product(const GemmDescription& d, const Division& division, const Device& device)
      : is_transposed_(is_transposed(d)), d_(as_computed(d)), device_(device), division_(division) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const GemmArguments arguments = is_transposed_ ? plan::transposed(launch.arguments) : launch.arguments;
    const OperandLayout b_columns = plan::transposed(d_.b);
    const bool n_major = sizeof(In) == 2 && b_columns.row_stride == 1 && b_columns.column_stride != 1;
    Parameters<In> p{.b_map = {},
                     .a_map = {},
                     .b_is_shared = plan::distinct_matrices(b_columns, d_.batch_count) == 1,
                     .a_is_shared = plan::distinct_matrices(d_.a, d_.batch_count) == 1,
                     .b = static_cast<const In*>(arguments.b),
                     .b_layout = b_columns,
                     .a = static_cast<const In*>(arguments.a),
                     .a_layout = d_.a,
                     .k = static_cast<int>(d_.k),
                     .division = division_,
                     .out = native::output_of<DeviceAccumulator<In>>(d_, arguments, is_transposed_)};
    const bool by_tma = are_reachable(d_, arguments.a, arguments.b);
    if (by_tma) {
      const OperandLayout& of_map = n_major ? d_.b : b_columns;
      if (Status s = map(p.b_map, arguments.b, of_map, n_major ? d_.n : d_.k, n_major ? d_.k : d_.n, tile_n); !s.ok())
        return s;
      if (Status s = map(p.a_map, arguments.a, d_.a, d_.k, d_.m, rows_of(d_)); !s.ok()) return s;
    }
    return n_major ? launch_along<BMajor::n>(p, by_tma, launch.stream)
                   : launch_along<BMajor::k>(p, by_tma, launch.stream);
  }

  [[nodiscard]] std::string blocking() const override {
    return "BM=" + std::to_string(rows_of(d_)) + " BN=64 CLUSTER_K=" + std::to_string(division_.cluster) +
           " WARPS=" + std::to_string(division_.warps) + " STAGES=" + std::to_string(division_.stages) +
           " slices=" + std::to_string(division_.k_slices) + (is_transposed_ ? " as C^T" : "");
  }
  [[nodiscard]] double model_bytes() const override {
    const auto m = static_cast<double>(d_.m), n = static_cast<double>(d_.n), k = static_cast<double>(d_.k);
    return static_cast<double>(d_.batch_count) * (static_cast<double>(sizeof(In)) * (m + n) * k +
                                                  static_cast<double>(size_in_bytes(d_.types.output)) * m * n);
  }

 private:
  /// Rows of `columns` contiguous elements, in boxes of 128 bytes by `box_rows`.
  [[nodiscard]] Status map(CUtensorMap& to, const void* data, const OperandLayout& layout, std::int64_t columns,
                           std::int64_t rows, int box_rows) const {
    constexpr std::int64_t size = sizeof(In);
    const std::int64_t batches = plan::distinct_matrices(layout, d_.batch_count);
    const std::int64_t pitch = layout.row_stride * size;
    return make_tensor_map(to, {.type = size == 1                            ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                        : d_.types.input == ElementType::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                                             : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                .data = const_cast<void*>(data),
                                .columns = columns,
                                .rows = rows,
                                .batches = batches,
                                .row_bytes = pitch,
                                .batch_bytes = batches == 1 ? pitch * rows : layout.batch_stride * size,
                                .box_columns = static_cast<int>(stage_bytes / size),
                                .box_rows = box_rows,
                                // 256 bytes, of which other CTAs take a half, cost 8 % of the bandwidth.
                                .promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B});
  }

  template <BMajor where>
  [[nodiscard]] Status launch_along(const Parameters<In>& p, bool by_tma, cudaStream_t stream) const {
    const auto with_rows = [&]<int rows>() {
      return by_tma ? enqueue<Stream<In, rows, where, true>>(p, stream)
                    : enqueue<Stream<In, rows, where, false>>(p, stream);
    };
    if constexpr (where == BMajor::k || sizeof(In) == 2)
      return rows_of(d_) == 8 ? with_rows.template operator()<8>() : with_rows.template operator()<16>();
    return {};
  }

  template <class S>
  [[nodiscard]] Status enqueue(const Parameters<In>& p, cudaStream_t stream) const {
    static_assert(sizeof(Stage<S>) == (tile_n + S::rows) * stage_bytes);
    const auto most_bytes = static_cast<int>(device_.shared_bytes_per_block);  // other products take more
    if (Status s = allow_shared_memory(few_rows_kernel<S>, most_bytes, name); !s.ok()) return s;
    cudaLaunchAttribute attributes[2]{};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {static_cast<unsigned>(division_.cluster), 1, 1};
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(d_.batch_count * division_.tiles * division_.cluster));
    config.blockDim = dim3(static_cast<unsigned>(32 * division_.warps));
    config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes(division_, S::rows));
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    return check(cudaLaunchKernelEx(&config, few_rows_kernel<S>, p), "launch", name);
  }

  bool is_transposed_;
  GemmDescription d_;  ///< as computed
  const Device& device_;
  Division division_;
};

}  // namespace exactile::cuda::sm90::few_rows
