// SPDX-License-Identifier: Apache-2.0
/// \file
/// The host side of the SIMT engine: which instance of the kernel runs, and its launch.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "cuda/kernel.hpp"
#include "cuda/kernels/simt/pack.cuh"
#include "cuda/kernels/simt/tile_kernel.cuh"
#include "cuda/runtime/shared_memory.hpp"

namespace exactile::cuda::simt {

template <class In, class Out>
using TileKernel = void (*)(Parameters<In, Out>);

/// An instance of the kernel and the shared memory it takes.
template <class S>
struct Instance {
  TileKernel<typename S::In, typename S::Out> kernel;
  int shared_bytes;
};

template <class S, AccessPattern a, AccessPattern b>
constexpr Instance<S> instance() {
  return {tile_kernel<S, a, b>, Mainloop<S, a, b>::shared_bytes};
}

/// The instance for operands that lie so.
template <class S>
constexpr Instance<S> instance_for(AccessPattern a, AccessPattern b) {
  return with_patterns(
      a, b, []<AccessPattern a_pattern, AccessPattern b_pattern>() { return instance<S, a_pattern, b_pattern>(); });
}

/// How an operand lies. `vector`: elements of 16 bytes; `data` is null where it is not known yet.
[[nodiscard]] inline AccessPattern access_pattern_for(const void* data, const OperandLayout& layout, std::int64_t rows,
                                                      std::int64_t k, std::int64_t row_stride, std::int64_t k_stride,
                                                      int vector) {
  if (k_stride == 1 || k == 1) return AccessPattern::k_major;
  if (row_stride != 1 && rows != 1) return AccessPattern::any_strides;
  const bool whole = rows % vector == 0 && k_stride % vector == 0 && layout.batch_stride % vector == 0 &&
                     reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && !layout.pointer_array;
  return whole ? AccessPattern::mn_major_vectors : AccessPattern::mn_major;
}

template <class S>
inline constexpr TileSize size_of{.bm = S::bm, .bn = S::bn, .ctas = S::blocks_per_sm};

template <class S>
class Product final : public DeviceProduct {
 public:
  using In = typename S::In;
  using Out = typename S::Out;
  using Accumulator = typename S::Accumulator;

  Product(std::string_view name, const plan::Problem& problem, const Device& device, const Configuration& configuration)
      : name_(name),
        is_transposed_(is_transposed(problem.description, size_of<S>)),
        configuration_(configuration),
        packs_(configuration.pack != 0 ? packing(oriented(problem.description, is_transposed_), device, size_of<S>)
                                       : Packing()),
        d_(oriented(problem.description, is_transposed_)),
        division_(division_of(d_, size_of<S>, configuration)),
        can_start_early_(device.compute_capability >= 90) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    GemmArguments arguments = launch.arguments;
    if (is_transposed_) std::swap(arguments.a, arguments.b);
    GemmDescription d = d_;
    auto* const workspace = static_cast<std::byte*>(launch.workspace);
    if (packs_.a) {
      const Panels<In> from{static_cast<const In*>(arguments.a), d.a.row_stride, d.a.column_stride, d.m, d.k};
      arguments.a = workspace + sums_bytes();
      d.a = {.row_stride = 1, .column_stride = packed_pitch(d.m)};
      pack(from, arguments.a, launch.stream);
    }
    if (packs_.b) {
      const Panels<In> from{static_cast<const In*>(arguments.b), d.b.column_stride, d.b.row_stride, d.n, d.k};
      arguments.b = workspace + sums_bytes() + packed_bytes(packs_.a, d.m);
      d.b = {.row_stride = packed_pitch(d.n), .column_stride = 1};
      pack(from, arguments.b, launch.stream);
    }
    const Parameters<In, Out> p{d,
                                division_,
                                static_cast<const In*>(arguments.a),
                                static_cast<const In*>(arguments.b),
                                static_cast<Out*>(arguments.c),
                                static_cast<Accumulator*>(launch.workspace),
                                Epilogue<In, Out>(d, arguments)};
    const AccessPattern a = packs_.a ? AccessPattern::mn_major_vectors : walk_a(d, arguments.a);
    const AccessPattern b = packs_.b ? AccessPattern::mn_major_vectors : walk_b(d, arguments.b);
    const auto [kernel, shared_bytes] = instance_for<S>(a, b);
    if (constexpr int always_allowed = 48 << 10; shared_bytes > always_allowed)
      if (Status status = allow_shared_memory(kernel, shared_bytes, name_); !status.ok()) return status;
    kernel<<<static_cast<unsigned>(division_.work_tiles(d_.batch_count)), S::threads, shared_bytes, launch.stream>>>(p);
    if (Status status = check_launch(name_); !status.ok() || division_.split_k == 1) return status;
    return check(enqueue_splitk_reduce(p, can_start_early_, launch.stream), "launch", name_);
  }

  [[nodiscard]] std::string blocking() const override {
    return to_string(configuration_) + " BK=" + std::to_string(S::bk) + " TM=" + std::to_string(S::tm) +
           " TN=" + std::to_string(S::tn) + " STAGES=" + std::to_string(S::stages);
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return sums_bytes() + packed_bytes(packs_.a, d_.m) + packed_bytes(packs_.b, d_.n);
  }

  /// Each row of tiles reads B once and each column of tiles A; every chunk reads and writes its totals.
  [[nodiscard]] double model_bytes() const override {
    const auto m = static_cast<double>(d_.m), n = static_cast<double>(d_.n), k = static_cast<double>(d_.k);
    return static_cast<double>(d_.batch_count) *
           (static_cast<double>(sizeof(In)) * k * (m * division_.column_tiles + n * division_.row_tiles) +
            static_cast<double>(sizeof(Accumulator)) * m * n * (2 * static_cast<double>(division_.chunks) - 1));
  }

 private:
  static constexpr int vector = 16 / sizeof(Accumulator);

  [[nodiscard]] static AccessPattern walk_a(const GemmDescription& d, const void* data) {
    return access_pattern_for(data, d.a, d.m, d.k, d.a.row_stride, d.a.column_stride, vector);
  }
  [[nodiscard]] static AccessPattern walk_b(const GemmDescription& d, const void* data) {
    return access_pattern_for(data, d.b, d.n, d.k, d.b.column_stride, d.b.row_stride, vector);
  }

  [[nodiscard]] std::int64_t packed_bytes(bool packs, std::int64_t rows) const {
    return packs ? core::round_up(packed_pitch(rows) * d_.k * static_cast<std::int64_t>(sizeof(In)), 256) : 0;
  }
  [[nodiscard]] std::int64_t sums_bytes() const {
    if (division_.split_k == 1 && std::is_same_v<Out, Accumulator>) return 0;
    const std::int64_t copies = division_.split_k == 1 ? 1 : division_.chunks;
    return core::round_up(copies * d_.m * d_.n * d_.batch_count * static_cast<std::int64_t>(sizeof(Accumulator)), 256);
  }
  void pack(const Panels<In>& from, const void* to, cudaStream_t stream) const {
    const std::int64_t pitch = packed_pitch(from.rows);
    const dim3 grid(static_cast<unsigned>(pitch / pack_edge),
                    static_cast<unsigned>(std::min<std::int64_t>((from.k - 1) / pack_edge + 1, 65535)));
    pack_kernel<<<grid, dim3(pack_edge, pack_lines), 0, stream>>>(from, static_cast<In*>(const_cast<void*>(to)), pitch);
  }

  std::string_view name_;
  bool is_transposed_;
  Configuration configuration_;
  Packing packs_;
  GemmDescription d_;
  Division division_;
  bool can_start_early_;  ///< the kernel that adds slices up
};

/// Whether a device can run S whatever its operands.
template <class S>
[[nodiscard]] bool fits(const Device& device) {
  return instance<S, AccessPattern::any_strides, AccessPattern::any_strides>().shared_bytes <=
         device.shared_bytes_per_block;
}

/// Whether S computes such a product: the types of a family differ in size.
template <class S>
[[nodiscard]] bool computes(const plan::Problem& problem) {
  return size_in_bytes(problem.description.types.input) == sizeof(typename S::In);
}

/// The family whose configurations are those of Shapes. The last of a type fits on every device.
template <const std::string_view& name, class... Shapes>
[[nodiscard]] constexpr Kernel kernel_of(std::span<const GemmTypes> types, std::string_view summary) {
  return {.name = name,
          .role = "engine",
          .summary = summary,
          .types = types,
          .refuses =
              [](const plan::Problem& p, const Device&) {
                std::string_view why;
                static_cast<void>(((computes<Shapes>(p) && (why = simt::refuses(p, size_of<Shapes>)).empty()) || ...));
                return why;
              },
          .candidates =
              [](const plan::Problem& p, const Device& device) {
                std::vector<Candidate> all;
                const auto add = [&](bool can_run, const TileSize& tile) {
                  if (!can_run || !simt::refuses(p, tile).empty()) return;
                  for (const Candidate& candidate : simt::candidates(p, device, tile)) all.push_back(candidate);
                };
                (add(computes<Shapes>(p) && fits<Shapes>(device), size_of<Shapes>), ...);
                return all;
              },
          .make =
              [](const plan::Problem& p, const Device& device, const Configuration& c) {
                std::unique_ptr<DeviceProduct> product;
                const auto make = [&]<class S>(std::type_identity<S>) {
                  if (computes<S>(p) && S::bm == c.bm && S::bn == c.bn)
                    product = std::make_unique<Product<S>>(name, p, device, c);
                };
                (make(std::type_identity<Shapes>()), ...);
                return product;
              },
          .has_instances = sizeof...(Shapes) > 1};
}

}  // namespace exactile::cuda::simt
