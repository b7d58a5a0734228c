// SPDX-License-Identifier: Apache-2.0
/// \file
/// One maker for each kind of library; load_rival() and find_rivals() pick.
#pragma once

#include <memory>
#include <string>

#include "comparison/contender.hpp"
#include "comparison/rivals/cblas.hpp"

namespace exactile::comparison {

[[nodiscard]] std::unique_ptr<Contender> make_openblas(const std::string& path, CblasRoutines routines);
[[nodiscard]] std::unique_ptr<Contender> make_blis(const std::string& path);
[[nodiscard]] std::unique_ptr<Contender> make_mkl(const std::string& path, CblasRoutines routines);
[[nodiscard]] std::unique_ptr<Contender> make_onednn(const std::string& path);
[[nodiscard]] std::unique_ptr<Contender> make_onednn_matmul(const std::string& path);
[[nodiscard]] std::unique_ptr<Contender> make_libxsmm(const std::string& path);

/// On a device; they enqueue on the context's queue, which must be a CUDA stream.
[[nodiscard]] std::unique_ptr<Contender> make_cublas(const std::string& path, const Context& context);
/// Operands in host memory, which the library moves to the current device and back.
[[nodiscard]] std::unique_ptr<Contender> make_cublasxt(const std::string& path);
/// `fast_sums`: sums of 8-bit floats stay in the tensor cores, which keep 13 bits of them.
[[nodiscard]] std::unique_ptr<Contender> make_cublaslt(const std::string& path, const Context& context, bool fast_sums);
/// Enqueues on the context's queue, which must be OpenCL's.
[[nodiscard]] std::unique_ptr<Contender> make_clblast(const std::string& path, const Context& context);

}  // namespace exactile::comparison
