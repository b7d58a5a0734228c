// SPDX-License-Identifier: Apache-2.0
/// \file The kinds of product that the packed loops do: a row here, its Elements, and micro-kernels.
#pragma once

#include "cpu/micro/amx.hpp"

#define EXACTILE_FOR_EACH_KIND(DO) \
  EXACTILE_FOR_EACH_PLAIN_KIND(DO) \
  EXACTILE_FOR_EACH_PACKED_KIND(DO)

/// Those whose operands micro-kernels read where they lie, too.
#define EXACTILE_FOR_EACH_PLAIN_KIND(DO) \
  DO(float)                              \
  DO(double)                             \
  DO(std::complex<float>)                \
  DO(std::complex<double>)               \
  DO(std::int32_t)                       \
  DO(std::int64_t)

/// Those whose operands are always packed.
#define EXACTILE_FOR_EACH_PACKED_KIND(DO) \
  DO(Bf16Pairs)                           \
  DO(Widened<BFloat16>)                   \
  DO(Widened<Float16>)                    \
  DO(Widened<Float8E4M3>)                 \
  DO(Widened<Float8E5M2>)                 \
  DO(I8Quads)                             \
  DO(I8Pairs)                             \
  DO(I8Tiles)                             \
  DO(I16Pairs)                            \
  DO(I32Wide)                             \
  DO(Bf16Tiles)
