// SPDX-License-Identifier: Apache-2.0
/// \file The kinds of product that the packed loops do: a row here, its Elements, and micro-kernels.
#pragma once

#include "cpu/micro/elements.hpp"

#define EXACTILE_FOR_EACH_KIND(DO) \
  DO(float)                        \
  DO(double)                       \
  EXACTILE_FOR_EACH_PACKED_KIND(DO)

/// Those whose operands are always packed.
#define EXACTILE_FOR_EACH_PACKED_KIND(DO) \
  DO(Bf16Pairs)                           \
  DO(Widened<BFloat16>)                   \
  DO(Widened<Float16>)                    \
  DO(Widened<Float8E4M3>)                 \
  DO(Widened<Float8E5M2>)                 \
  DO(I8Quads)                             \
  DO(I8Pairs)
