// SPDX-License-Identifier: Apache-2.0
#define EXACTILE_VECTOR_ISA avx2
#define EXACTILE_VECTOR_BYTES 32
#include "blas/triangular_kernel_body.hpp"
