// SPDX-License-Identifier: Apache-2.0
/// \file A product that a program asks cuBLAS for.
#pragma once

#include <cublas_api.h>

#include <optional>

#include "exactile/plan.hpp"

namespace exactile::cublas {

/// As the exported routines found it: f32 or cf32 with standard accuracy, by host factors, as far as they can tell.
struct Product {
  const char* routine;
  const void* handle;
  cudaStream_t stream;
  GemmDescription description;
  GemmArguments arguments;
};

/// Enqueues the product, if ours is faster, and answers what the routine answers; nothing where the call is cuBLAS's
/// to do: then nothing has happened. Never throws.
[[nodiscard]] std::optional<cublasStatus_t> multiply(const Product& product) noexcept;

/// With EXACTILE_VERBOSE=1 says that the call is forwarded, and why.
void say_forwarded(const char* routine, const char* reason) noexcept;

}  // namespace exactile::cublas
