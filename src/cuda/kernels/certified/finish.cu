// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/certified/finish.cuh"

#include <algorithm>
#include <complex>

#include "core/checked.hpp"
#include "core/rounded.hpp"
#include "cuda/kernels/certified/exact.cuh"
#include "cuda/kernels/certified/stages.hpp"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/dispatch.cuh"

namespace exactile::cuda::certified {
namespace {

/// Real and imaginary part of a factor as the type that sums has them.
void factor_of(const Scalar& s, ElementType accumulator, double (&to)[2]) {
  auto z = s.as<std::complex<double>>();
  if (accumulator == ElementType::f32 || accumulator == ElementType::cf32) z = core::rounded_to_f32(z);
  to[0] = z.real();
  to[1] = z.imag();
}

Finish finish_of(const Stage& stage) {
  const GemmDescription& d = stage.plan.d;
  const GemmArguments& arguments = stage.arguments;
  Finish f{.trust = stage.trust,
           .rows = d.m,
           .columns = d.n,
           .products = d.batch_count,
           .c = arguments.c,
           .c_layout = d.c,
           .bias = arguments.bias,
           .bias_kind = d.bias,
           .relu = d.activation == Activation::relu,
           .doubts = reinterpret_cast<Doubt*>(stage.workspace + stage.plan.doubts),
           .doubt_count = reinterpret_cast<std::uint32_t*>(stage.workspace + stage.plan.doubt_count),
           .column_words = stage.plan.column_words,
           .product_words = stage.plan.column_words * d.n};
  if (stage.plan.a.terms != 0) {
    f.a = stage.panel(stage.plan.a);
    if (stage.plan.a.copy != 0) f.a_by_terms = reinterpret_cast<const float*>(stage.workspace + stage.plan.a.copy);
    f.b = stage.panel(stage.plan.b);
    f.sums = stage.sums();
  }
  factor_of(arguments.alpha, accumulator_type(d.types.input), f.alpha);
  factor_of(arguments.beta, accumulator_type(d.types.input), f.beta);
  f.is_plain =
      d.k != 0 && f.alpha[0] == 1 && f.alpha[1] == 0 && f.beta[0] == 0 && f.beta[1] == 0 && d.bias == Bias::none;
  return f;
}

template <class Out, int Parts, bool Extracts>
Status enqueue(const Stage& stage) {
  const Finish f = finish_of(stage);
  if (Status s =
          check(cudaMemsetAsync(f.doubt_count, 0, sizeof(std::uint32_t), stage.stream), "cudaMemsetAsync", kernel_name);
      !s.ok())
    return s;
  const std::int64_t strips = core::ceil_divide(f.columns, strip_columns) * f.products;
  const dim3 grid(static_cast<unsigned>(core::ceil_divide(f.column_words, finish_warps)),
                  static_cast<unsigned>(std::min<std::int64_t>(strips, 65535)));
  finish_kernel<Out, Parts, Extracts><<<grid, 32 * finish_warps, 0, stage.stream>>>(f);
  if (Status s = check_launch(kernel_name); !s.ok()) return s;
  using Shape = ExactShape<Extracts>;
  const auto kernel = exact_kernel<Out, Parts, Extracts>;
  if (Status s = allow_shared_memory(kernel, Shape::shared_bytes, kernel_name); !s.ok()) return s;
  const std::int64_t blocks = std::min(std::int64_t{stage.device.sm_count} * Shape::blocks, words_of(stage.plan));
  kernel<<<static_cast<unsigned>(blocks), Shape::threads, Shape::shared_bytes, stage.stream>>>(f);
  return check_launch(kernel_name);
}

}  // namespace

Status finish(const Stage& stage) {
  using enum ElementType;
  switch (stage.plan.d.types.output) {
    case f64: return enqueue<double, 1, true>(stage);
    case cf64: return enqueue<double, 2, true>(stage);
    case cf32: return enqueue<float, 2, false>(stage);
    case f16: return enqueue<__half, 1, false>(stage);
    case bf16: return enqueue<__nv_bfloat16, 1, false>(stage);
    default: return enqueue<float, 1, false>(stage);
  }
}

}  // namespace exactile::cuda::certified
