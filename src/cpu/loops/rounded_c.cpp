// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/rounded_c.hpp"

#include "core/arithmetic.hpp"
#include "cpu/isa.hpp"
#include "cpu/micro/round.hpp"
#include "plan/scales.hpp"
#include "plan/transposed.hpp"
#include "reference/naive.hpp"

namespace exactile::cpu {
namespace {

template <class Narrow>
using RoundRow = void (*)(const float* from, std::int64_t count, Narrow* to);

/// The loops that round a row run on processors with these instruction sets only.
template <class Narrow>
RoundRow<Narrow> round_row() {
#if defined(__x86_64__)
  return widest_isa() >= Isa::avx512 ? RoundRow<Narrow>(avx512_round) : RoundRow<Narrow>(avx2_round);
#elif defined(__aarch64__)
  return neon_round;
#else
  return nullptr;
#endif
}

template <class Narrow>
class Rounded final : public RoundedC {
 public:
  Rounded(const GemmDescription& description, bool exchanged)
      : is_transposed_(exchanged),
        d_(exchanged ? plan::transposed(description) : description),
        round_(round_row<Narrow>()),
        is_plain_(!plan::has_scales(d_) && d_.bias == Bias::none && d_.activation == Activation::none) {}

  void store(const GemmArguments& given, std::int64_t product, Range rows, Range columns, float* sums,
             std::int64_t stride) const override {
    const GemmArguments arguments = is_transposed_ ? plan::transposed(given) : given;
    auto* const c = static_cast<Narrow*>(reference::product_base(arguments.c, d_.c, product, sizeof(Narrow)));
    const bool is_sum = is_plain_ && arguments.beta.is_zero() && arguments.alpha.as<float>() == 1.0F;
    for (std::int64_t i = rows.begin; i < rows.end; ++i, sums += stride) {
      Narrow* const row = c + i * d_.c.row_stride + columns.begin * d_.c.column_stride;
      const std::int64_t count = columns.end - columns.begin;
      if (!is_sum) finish_row(arguments, i, columns, row, sums);
      if (d_.c.column_stride == 1)
        round_(sums, count, row);
      else
        for (std::int64_t j = 0; j < count; ++j) row[j * d_.c.column_stride] = Narrow(sums[j]);
    }
  }

 private:
  void finish_row(const GemmArguments& arguments, std::int64_t i, Range columns, const Narrow* before,
                  float* sums) const {
    const float* const row_scales = d_.row_scales ? static_cast<const float*>(arguments.row_scales) : nullptr;
    const float* const column_scales = d_.column_scales ? static_cast<const float*>(arguments.column_scales) : nullptr;
    const auto* bias = static_cast<const Narrow*>(arguments.bias);
    const float alpha = arguments.alpha.as<float>();
    const float beta = arguments.beta.as<float>();
    const float of_row = row_scales == nullptr ? 1 : row_scales[i];
    for (std::int64_t j = columns.begin; j < columns.end; ++j) {
      float& sum = sums[j - columns.begin];
      const float of_column = column_scales == nullptr ? 1 : column_scales[j];
      // The caller's row first.
      float value = is_transposed_ ? sum * of_column * of_row : sum * of_row * of_column;
      value *= alpha;
      if (beta != 0) value += beta * static_cast<float>(before[(j - columns.begin) * d_.c.column_stride]);
      if (d_.bias != Bias::none) value += static_cast<float>(bias[d_.bias == Bias::per_row ? i : j]);
      sum = core::activate(d_.activation, value);
    }
  }

  bool is_transposed_;
  GemmDescription d_;
  RoundRow<Narrow> round_;
  bool is_plain_;  ///< nothing follows but alpha and beta
};

}  // namespace

std::unique_ptr<RoundedC> make_rounded_c(const GemmDescription& description, bool exchanged) {
  if (description.types.output == ElementType::f16) return std::make_unique<Rounded<Float16>>(description, exchanged);
  return std::make_unique<Rounded<BFloat16>>(description, exchanged);
}

}  // namespace exactile::cpu
