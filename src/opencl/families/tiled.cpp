// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/tiled.hpp"

#include <array>

#include "core/checked.hpp"
#include "opencl/families/call.hpp"
#include "opencl/families/cost.hpp"
#include "opencl/kernel_sources.hpp"

namespace exactile::opencl {
namespace {

/// One square tile of C per work-group, `items` work-items.
class SquareTiles final : public DeviceProduct {
 public:
  struct Shape {
    std::string_view source;
    const char* function;
    std::string options;
    int side;
    int items;
  };
  SquareTiles(const plan::Problem& problem, const Device& device, Shape shape)
      : d_(problem.description), shape_(std::move(shape)) {
    options_ = fmt::format("{} -D TS={}{}", element_options(d_, device), shape_.side, shape_.options);
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    Result<Call> call = make_call(launch.runtime, shape_.source, shape_.function, options_);
    if (!call.ok()) return call.status();
    call.value().add(cl_long{d_.m});
    call.value().add(cl_long{d_.n});
    call.value().add(cl_long{d_.k});
    call.value().add_operand(launch.a, d_.a, d_.types.input);
    call.value().add_operand(launch.b, d_.b, d_.types.input);
    call.value().add_output(launch, d_);
    const std::int64_t groups =
        core::ceil_divide(d_.m, shape_.side) * core::ceil_divide(d_.n, shape_.side) * d_.batch_count;
    return call.value().enqueue(launch.queue, groups, shape_.items, shape_.function);
  }
  [[nodiscard]] std::string blocking() const override { return fmt::format("TS={}", shape_.side) + shown(); }
  [[nodiscard]] double model_bytes() const override { return tile_traffic(d_, shape_.side, shape_.side); }

 private:
  [[nodiscard]] std::string shown() const {
    return shape_.items == shape_.side * shape_.side ? ""
                                                     : fmt::format(" VW={}", shape_.side * shape_.side / shape_.items);
  }

  GemmDescription d_;
  Shape shape_;
  std::string options_;
};

constexpr int side = 16;
constexpr int wide_side = 32;
constexpr int vector_width = 4;

constexpr std::array kahan_types{GemmTypes{ElementType::f32, ElementType::f32},
                                 GemmTypes{ElementType::f64, ElementType::f64}};
constexpr std::array vector_types{GemmTypes{ElementType::f32, ElementType::f32},
                                  GemmTypes{ElementType::f64, ElementType::f64},
                                  GemmTypes{ElementType::i32, ElementType::i32}};

std::string_view needs_items(const Device& device, std::int64_t items) {
  return device.max_group_items < items ? "the device's work-groups are too small for the tile" : std::string_view();
}

}  // namespace

const Kernel tiled{
    .name = "opencl_tiled",
    .role = "ladder",
    .summary = "square tiles of A and B in local memory, one element of C per work-item",
    .types = all_gemm_types(),
    .refuses = [](const plan::Problem&, const Device& d) { return needs_items(d, std::int64_t{side} * side); },
    .cost = [](const plan::Problem& p, const Device& d) { return estimate(p, d, 0.05); },
    .prepare = [](const plan::Problem& p, const Device& d) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<SquareTiles>(p, d, SquareTiles::Shape{tiled_cl, "tiled", "", side, side * side});
    }};

const Kernel tiled_kahan{
    .name = "opencl_tiled_kahan",
    .role = "ladder",
    .summary = "opencl_tiled with Kahan's compensated summation",
    .types = kahan_types,
    .refuses = [](const plan::Problem&, const Device& d) { return needs_items(d, std::int64_t{side} * side); },
    .cost = [](const plan::Problem& p, const Device& d) { return estimate(p, d, 0.03); },
    .prepare = [](const plan::Problem& p, const Device& d) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<SquareTiles>(p, d, SquareTiles::Shape{tiled_cl, "tiled", " -D KAHAN", side, side * side});
    }};

const Kernel vectors{.name = "opencl_vectors",
                     .role = "ladder",
                     .summary = "tiles in local memory, a vector of four elements of C per work-item",
                     .types = vector_types,
                     .refuses = [](const plan::Problem&,
                                   const Device& d) { return needs_items(d, wide_side * wide_side / vector_width); },
                     .cost = [](const plan::Problem& p, const Device& d) { return estimate(p, d, 0.1); },
                     .prepare = [](const plan::Problem& p, const Device& d) -> std::unique_ptr<DeviceProduct> {
                       return std::make_unique<SquareTiles>(
                           p, d,
                           SquareTiles::Shape{vectors_cl, "vectors", fmt::format(" -D VW={}", vector_width), wide_side,
                                              wide_side * wide_side / vector_width});
                     }};

}  // namespace exactile::opencl
