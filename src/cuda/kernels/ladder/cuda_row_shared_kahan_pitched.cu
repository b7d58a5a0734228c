// SPDX-License-Identifier: Apache-2.0
// `cuda_row_shared_kahan_pitched`: `cuda_row_shared_kahan` on copies of A and B in pitched memory. Every row begins at
// a multiple of 512 bytes, as cudaMallocPitch and cudaMemcpy2D would have it, so that a warp's 128 bytes of a row are
// one cache line and not parts of two. The copies lie in the workspace and count in the time. Traffic model: as
// `cuda_row_shared_kahan`, and A and B once more to and fro. Limit: as there. See
// docs/ladder/cuda_row_shared_kahan.md.
#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/ladder/row_shared_kahan.hpp"
#include "cuda/tile/tiles.hpp"
#include "cuda/tile/transposed_copy.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {
namespace {

constexpr std::string_view name = "cuda_row_shared_kahan_pitched";
constexpr std::int64_t pitch_elements = 512 / sizeof(float);
constexpr std::array pitched_types{GemmTypes{ElementType::f32, ElementType::f32}};

/// A pitched copy of a matrix: the transposed copy of its transpose.
TransposedCopy pitched_copy(std::int64_t rows, std::int64_t columns, const OperandLayout& from) {
  return {.rows = columns,
          .columns = rows,
          .from = plan::transposed(from),
          .type = ElementType::f32,
          .pitch = core::round_up(columns, pitch_elements),
          .copy_rows = rows};
}

class RowSharedKahanPitched final : public DeviceProduct {
 public:
  explicit RowSharedKahanPitched(const GemmDescription& d)
      : description_(d),
        a_(pitched_copy(d.m, d.k, d.a)),
        b_(pitched_copy(d.k, d.n, d.b)),
        at_once_(products_at_once(d, a_.product_bytes() + b_.product_bytes())) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    GemmDescription d = description_;
    d.a = plan::transposed(a_.layout());
    d.b = plan::transposed(b_.layout());
    char* const b_copies = static_cast<char*>(launch.workspace) + at_once_ * a_.product_bytes();
    GemmArguments arguments = launch.arguments;
    for (std::int64_t first = 0; first < description_.batch_count; first += at_once_) {
      d.batch_count = std::min(at_once_, description_.batch_count - first);
      const auto& from = launch.arguments;
      arguments.a = launch.workspace;
      arguments.b = b_copies;
      arguments.c = const_cast<void*>(from_product(from.c, d.c, d.types.output, first));
      if (Status s = a_.launch(from_product(from.a, description_.a, d.types.input, first), launch.workspace,
                               d.batch_count, launch.stream, name);
          !s.ok())
        return s;
      if (Status s = b_.launch(from_product(from.b, description_.b, d.types.input, first), b_copies, d.batch_count,
                               launch.stream, name);
          !s.ok())
        return s;
      if (Status s = launch_row_shared_kahan(d, arguments, launch.stream, name); !s.ok()) return s;
    }
    return {};
  }
  [[nodiscard]] std::string blocking() const override {
    return row_shared_blocking(description_) + " pitch=" + std::to_string(b_.pitch);
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return at_once_ * (a_.product_bytes() + b_.product_bytes());
  }
  [[nodiscard]] double model_bytes() const override {
    const GemmDescription& d = description_;
    return row_shared_bytes(d) +
           2.0 * static_cast<double>(a_.product_bytes() + b_.product_bytes()) * static_cast<double>(d.batch_count);
  }

 private:
  GemmDescription description_;
  TransposedCopy a_;
  TransposedCopy b_;
  std::int64_t at_once_;
};

}  // namespace

const Kernel cuda_row_shared_kahan_pitched{
    .name = name,
    .role = "ladder",
    .summary = "cuda_row_shared_kahan on pitched copies of A and B",
    .types = pitched_types,
    .refuses = [](const plan::Problem&, const Device&) -> std::string_view { return {}; },
    .candidates = one_candidate,
    .make = [](const plan::Problem& p, const Device&, const Configuration&) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<RowSharedKahanPitched>(p.description);
    }};

}  // namespace exactile::cuda
