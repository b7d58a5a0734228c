// SPDX-License-Identifier: Apache-2.0
#define EXACTILE_VECTOR_ISA portable
#define EXACTILE_VECTOR_BYTES 16
#include "blas/triangular_kernel_body.hpp"
