// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a CUDA kernel family tells the kernel list about itself. A family's file knows this, CUDA, and nothing of the
/// planner's choice, of staging or of contexts.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/configuration.hpp"
#include "cuda/device.hpp"
#include "cuda/model/demand.hpp"
#include "plan/problem.hpp"

namespace exactile::cuda {

/// One run. Every pointer in `arguments` is device memory (a pointer array too, and what it points to); alpha is not 0,
/// k is not 0 and C is not empty. `workspace` is 256-byte aligned and has
/// DeviceProduct::workspace_bytes_for(arguments).
struct Launch {
  const GemmArguments& arguments;
  void* workspace = nullptr;
  cudaStream_t stream = nullptr;
  /// What DeviceProduct::prepare() made of A and B, or null. `arguments` have the elements in any case.
  const void* prepared_a = nullptr;
  const void* prepared_b = nullptr;
  std::uint64_t* path_counts = nullptr;  ///< one for each of DeviceProduct::paths(), to be added to; or null
};

/// A product made ready: tile, grid and everything else that does not depend on pointers is settled.
/// launch() only enqueues on the stream: no allocation, no synchronisation, no host callback, so that it can be
/// captured in a graph. It is const and may be called from several threads at once, each with its own workspace.
class DeviceProduct {
 public:
  virtual ~DeviceProduct() = default;
  [[nodiscard]] virtual Status launch(const Launch& launch) const = 0;
  [[nodiscard]] virtual std::string blocking() const = 0;  ///< "BM=128 BN=128 BK=16 stages=4 SPLIT_K=2 ..."
  [[nodiscard]] virtual std::int64_t workspace_bytes() const { return 0; }
  /// What a run with these operands needs of it, which may be less: some copies are only needed at odd addresses.
  [[nodiscard]] virtual std::int64_t workspace_bytes_for(const GemmArguments&) const { return workspace_bytes(); }
  [[nodiscard]] virtual double model_bytes() const = 0;  ///< device-memory traffic by the kernel's model

  /// For kernels that read an operand in a form of their own: the form's bytes (0: there is none), and what enqueues
  /// its making. It may depend on the operand's own sizes, layout and batch, and on nothing else of the problem.
  [[nodiscard]] virtual std::int64_t prepared_bytes(Operand) const { return 0; }
  [[nodiscard]] virtual Status prepare(Operand, const void* /*elements*/, void* /*form*/, cudaStream_t) const {
    return {};
  }
  /// The ways it may compute parts of C, where the data decide.
  [[nodiscard]] virtual std::vector<Path> paths() const { return {}; }
};

/// A configuration that can do a problem, and what it asks of the device.
struct Candidate {
  Configuration configuration;
  Demand demand;
};

/// One kernel family. `name` is the stem of its file.
struct Kernel {
  std::string_view name;
  std::string_view role;  ///< "ladder" or "engine", as in plan::KernelEntry
  std::string_view summary;
  std::span<const GemmTypes> types;
  /// Devices that can run it, by compute capability: least <= cc <= most.
  int least_capability = 75;
  int most_capability = 999;
  /// Why no configuration can do this problem (whose types are among `types`); empty if one can.
  std::string_view (*refuses)(const plan::Problem&, const Device&);
  /// Those that can do a problem that is not refused: at least one.
  std::vector<Candidate> (*candidates)(const plan::Problem&, const Device&);
  /// The product by one of them.
  std::unique_ptr<DeviceProduct> (*make)(const plan::Problem&, const Device&, const Configuration&);
  /// Its tiles and divisions of K are instances of their own, which tests walk one by one.
  bool has_instances = false;
  /// Applies row_scales and column_scales itself. For other kernels they are applied to sums in a workspace, by a
  /// kernel of their own (runtime/scaled_product.hpp); those are never asked for a product with scales.
  bool applies_scales = false;
};

/// "cudaFuncSetAttribute in sm90_f32_fp16x3_wgmma: invalid argument (cudaErrorInvalidValue)"; ok for cudaSuccess.
/// Out of memory becomes StatusCode::out_of_memory, everything else StatusCode::device_failure.
[[nodiscard]] Status check(cudaError_t error, std::string_view call, std::string_view kernel = {});

/// The error of the launch just made on this thread (cudaGetLastError), with the kernel's name.
[[nodiscard]] inline Status check_launch(std::string_view kernel) {
  return check(cudaGetLastError(), "launch", kernel);
}

}  // namespace exactile::cuda
