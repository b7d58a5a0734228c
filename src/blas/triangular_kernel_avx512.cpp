// SPDX-License-Identifier: Apache-2.0
#define EXACTILE_VECTOR_ISA avx512
#define EXACTILE_VECTOR_BYTES 64
#include "blas/triangular_kernel_body.hpp"
